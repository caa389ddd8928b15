package v1alpha1

// Grade says how fit a device is for new work.
// +kubebuilder:validation:Enum=Healthy;Suspect;Degraded;Failed;Unknown
type Grade string

// The grades. Unknown is a value of its own: it never beats a device that is
// known to be healthy, and it never keeps a pod away.
const (
	GradeHealthy  Grade = "Healthy"
	GradeSuspect  Grade = "Suspect"
	GradeDegraded Grade = "Degraded"
	GradeFailed   Grade = "Failed"
	GradeUnknown  Grade = "Unknown"
)

// Severity orders grades by how much is known against a device: Unknown and
// Healthy are 0, Failed is 3.
func (g Grade) Severity() int {
	switch g {
	case GradeSuspect:
		return 1
	case GradeDegraded:
		return 2
	case GradeFailed:
		return 3
	default:
		return 0
	}
}

// Action is what a person or a machine should do about a device.
// +kubebuilder:validation:Enum=None;RestartApp;ResetDevice;RestartDriver;RebootNode;ReplaceDevice;InspectLink;ContactSupport
type Action string

// The recommended actions, from the least to the most drastic kind of repair.
const (
	ActionNone           Action = "None"
	ActionRestartApp     Action = "RestartApp"
	ActionResetDevice    Action = "ResetDevice"
	ActionRestartDriver  Action = "RestartDriver"
	ActionRebootNode     Action = "RebootNode"
	ActionInspectLink    Action = "InspectLink"
	ActionContactSupport Action = "ContactSupport"
	ActionReplaceDevice  Action = "ReplaceDevice"
)

// Activity says what a device or partition is doing.
type Activity string

// The activities. HeldIdle and HeldNoProcess need agreement of independent
// signals; contradiction and missing signals are Unknown.
const (
	ActivityBusy          Activity = "Busy"
	ActivityLowEfficiency Activity = "LowEfficiency"
	ActivityHeldIdle      Activity = "HeldIdle"
	ActivityHeldNoProcess Activity = "HeldNoProcess"
	ActivityUnallocated   Activity = "Unallocated"
	ActivityUnknown       Activity = "Unknown"
)
