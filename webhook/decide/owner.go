package decide

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"wastenot.dev/api/v1alpha1"
)

// Teams finds teams of the quota configuration by name.
type Teams interface {
	Team(name string) (v1alpha1.Team, bool)
}

// Owner is whose a pod is.
type Owner struct {
	// Team is what the namespace says; empty where it says nothing.
	Team string
	// Known tells whether the team is in the quota configuration, and Policy what
	// happens to its pods beyond its limits.
	Known  bool
	Policy v1alpha1.QuotaPolicy
	// Owner is who is asked and CostCenter who pays; empty where nobody says.
	Owner, CostCenter string
	// TeamOwner is whom the configuration names for the team. It is who can be asked
	// for more quota.
	TeamOwner string
}

// OwnerOf says whose the namespace's pod is. The team is the namespace's alone: a pod
// could name any. For owner and cost centre the namespace comes first, then the team's
// configuration, and the pod's own label where neither says anything.
func OwnerOf(namespace *corev1.Namespace, pod *corev1.Pod, teams Teams) Owner {
	owner := Owner{
		Team:       namespace.Labels[v1alpha1.LabelTeam],
		Owner:      namespace.Labels[v1alpha1.LabelOwner],
		CostCenter: namespace.Labels[v1alpha1.LabelCostCenter],
	}
	if owner.Team != "" {
		if team, ok := teams.Team(owner.Team); ok {
			owner.Known, owner.TeamOwner = true, team.Owner
			owner.Policy = cmp.Or(team.Policy, v1alpha1.QuotaReject)
			owner.Owner = cmp.Or(owner.Owner, team.Owner)
			owner.CostCenter = cmp.Or(owner.CostCenter, team.CostCenter)
		}
	}
	owner.Owner = cmp.Or(owner.Owner, pod.Labels[v1alpha1.LabelOwner])
	owner.CostCenter = cmp.Or(owner.CostCenter, pod.Labels[v1alpha1.LabelCostCenter])
	return owner
}

// Queues tells whether pods of the team may wait for room; Create.Waits, whether one does.
func (o Owner) Queues() bool { return o.Policy == v1alpha1.QuotaQueue }
