package teamquota

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"wastenot.dev/api/v1alpha1"
)

// byTeam indexes namespaces by their team.
const byTeam = "wastenot.dev/team"

// namespaceIndex finds namespaces, and those of a team.
type namespaceIndex struct{ cache.Indexer }

// indexNamespaces adds the index to the scheduler's own cache of namespaces.
func indexNamespaces(informer cache.SharedIndexInformer) (namespaceIndex, error) {
	if err := informer.AddIndexers(teamIndexer); err != nil {
		return namespaceIndex{}, fmt.Errorf("indexing namespaces by team: %w", err)
	}
	return namespaceIndex{informer.GetIndexer()}, nil
}

var teamIndexer = cache.Indexers{byTeam: func(object any) ([]string, error) {
	namespace, ok := object.(*corev1.Namespace)
	if !ok || namespace.Labels[v1alpha1.LabelTeam] == "" {
		return nil, nil
	}
	return []string{namespace.Labels[v1alpha1.LabelTeam]}, nil
}}

// get returns the namespace, or an empty one and false.
func (n namespaceIndex) get(name string) (*corev1.Namespace, bool) {
	object, found, err := n.GetByKey(name)
	namespace, ok := object.(*corev1.Namespace)
	if err != nil || !found || !ok {
		return &corev1.Namespace{}, false
	}
	return namespace, true
}

// of returns the names of the team's namespaces.
func (n namespaceIndex) of(team string) []string {
	if team == "" {
		return nil
	}
	objects, err := n.ByIndex(byTeam, team)
	if err != nil {
		return nil // The index is there.
	}
	names := make([]string, 0, len(objects))
	for _, object := range objects {
		if namespace, ok := object.(*corev1.Namespace); ok {
			names = append(names, namespace.Name)
		}
	}
	return names
}
