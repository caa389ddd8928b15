package app

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"wastenot.dev/telemetry/store"
)

// groupLabels are the well-known labels that name a node's pool, the most specific
// first.
var groupLabels = []string{
	"karpenter.sh/nodepool",
	"eks.amazonaws.com/nodegroup",
	"alpha.eksctl.io/nodegroup-name",
	"cloud.google.com/gke-nodepool",
	"kubernetes.azure.com/agentpool",
	"agentpool",
	"node.cluster.x-k8s.io/machinepool",
	"doks.digitalocean.com/node-pool",
	"oci.oraclecloud.com/node-pool",
}

func groupOf(node *corev1.Node) string {
	for _, label := range groupLabels {
		if group := node.Labels[label]; group != "" {
			return group
		}
	}
	return ""
}

// followNodes attaches what Kubernetes knows of a node to its devices. The returned
// function tells whether every node that was there at first has been placed.
func followNodes(ctx context.Context, objects cache.Cache, fleet *store.Store, chosen []string) (synced toolscache.InformerSynced, err error) {
	informer, err := objects.GetInformer(ctx, &corev1.Node{})
	if err != nil {
		return nil, fmt.Errorf("watching nodes: %w", err)
	}
	registration, err := informer.AddEventHandler(nodeHandler(fleet, chosen))
	if err != nil {
		return nil, fmt.Errorf("watching nodes: %w", err)
	}
	return registration.HasSynced, nil
}

func nodeHandler(fleet *store.Store, chosen []string) toolscache.ResourceEventHandler {
	place := func(object any) {
		node, ok := object.(*corev1.Node)
		if !ok {
			return
		}
		attached := map[string]string{}
		for _, label := range chosen {
			if value, found := node.Labels[label]; found {
				attached[label] = value
			}
		}
		fleet.Place(node.Name, groupOf(node), attached)
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    place,
		UpdateFunc: func(_, object any) { place(object) },
		DeleteFunc: func(object any) {
			if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			if node, ok := object.(*corev1.Node); ok {
				fleet.Remove(node.Name)
			}
		},
	}
}
