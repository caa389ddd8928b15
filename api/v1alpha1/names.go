package v1alpha1

// Names of the processes and of what they share.
const (
	// SystemNamespace is where the product's own processes run.
	SystemNamespace = "wastenot-system"
	// SchedulerName is the profile to which accelerator pods are given.
	SchedulerName = "wastenot-scheduler"
	// FleetAudience is the audience that a token must carry to watch the fleet.
	FleetAudience = "wastenot-telemetry"
	// PolicyConfigMap holds health.yaml and idle.yaml.
	PolicyConfigMap = "wastenot-policy"
)

// Labels.
const (
	// LabelManagedBy and ManagedByTelemetry mark the quarantines that telemetry made
	// and may end; one without the label belongs to whoever created it.
	LabelManagedBy     = "app.kubernetes.io/managed-by"
	ManagedByTelemetry = "wastenot-telemetry"
)

// Reasons of Events, CamelCase as Kubernetes has them.
const (
	// EventAcceleratorDegraded is recorded on a pod that holds a quarantined device.
	EventAcceleratorDegraded = "AcceleratorDegraded"
	// EventAcceleratorQuarantined is recorded on the node when a device is quarantined.
	EventAcceleratorQuarantined = "AcceleratorQuarantined"
	// EventAcceleratorReleased is recorded on the node when an operator gives back a
	// device that still fails.
	EventAcceleratorReleased = "AcceleratorReleased"
	// EventAcceleratorRecovered is recorded on the node when a quarantine ends.
	EventAcceleratorRecovered = "AcceleratorRecovered"
)
