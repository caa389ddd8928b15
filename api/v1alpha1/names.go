package v1alpha1

// Names of the processes and of what they share.
const (
	// SystemNamespace is where the product's own processes run.
	SystemNamespace = "wastenot-system"
	// SchedulerName is the profile to which accelerator pods are given.
	SchedulerName = "wastenot-scheduler"
	// FleetAudience is the audience that a token must carry to watch the fleet.
	FleetAudience = "wastenot-telemetry"
	// PolicyConfigMap holds health.yaml, idle.yaml and mix.yaml.
	PolicyConfigMap = "wastenot-policy"
	// QuotaConfigMap holds the teams and their limits under QuotaKey.
	QuotaConfigMap = "wastenot-quota"
	// QuotaKey is the key of QuotaConfig in its ConfigMap.
	QuotaKey = "quota.yaml"
	// PricesConfigMap holds the price book under PricesKey.
	PricesConfigMap = "wastenot-prices"
	// PricesKey is the key of PriceBook in its ConfigMap.
	PricesKey = "prices.yaml"
)

// Labels.
const (
	// LabelManagedBy and ManagedByTelemetry mark the quarantines that telemetry made
	// and may end; one without the label belongs to whoever created it.
	LabelManagedBy     = "app.kubernetes.io/managed-by"
	ManagedByTelemetry = "wastenot-telemetry"

	// LabelTeam on a namespace says which team owns it; it is stamped on the
	// namespace's accelerator pods.
	LabelTeam = "wastenot.dev/team"
	// LabelOwner and LabelCostCenter say who is asked and who pays; they are stamped
	// like the team.
	LabelOwner      = "wastenot.dev/owner"
	LabelCostCenter = "wastenot.dev/cost-center"
	// LabelMode on a namespace says what a finding against a pod leads to: a Mode.
	LabelMode = "wastenot.dev/mode"
)

// Mode says what the webhook does about a pod that breaks a rule.
type Mode string

// The modes, from the mildest.
const (
	// ModeObserve admits and records. It is the default.
	ModeObserve Mode = "observe"
	// ModeWarn admits and warns.
	ModeWarn Mode = "warn"
	// ModeEnforce refuses.
	ModeEnforce Mode = "enforce"
)

// Annotations of pods. Amounts are decimals per hour, such as 6.88, or "unknown".
const (
	// AnnotationHourly is what the pod costs at most, by what is known at admission;
	// AnnotationHourlyMin and AnnotationHourlyMax bound it.
	AnnotationHourly    = "cost.wastenot.dev/estimated-hourly"
	AnnotationHourlyMin = "cost.wastenot.dev/estimated-hourly-min"
	AnnotationHourlyMax = "cost.wastenot.dev/estimated-hourly-max"
	// AnnotationCurrency is the ISO 4217 code of all amounts.
	AnnotationCurrency = "cost.wastenot.dev/currency"
	// AnnotationBasis says what was priced: whole, mig, timeslice, dra, mixed, unknown.
	AnnotationBasis = "cost.wastenot.dev/basis"
	// AnnotationPriceBook is the hash of the price book that gave the price.
	AnnotationPriceBook = "cost.wastenot.dev/price-book"
	// AnnotationConfidence says how sure the estimate is.
	AnnotationConfidence = "cost.wastenot.dev/confidence"
	// AnnotationBoundHourly is the price on the node that the pod was bound to.
	AnnotationBoundHourly = "cost.wastenot.dev/bound-hourly"

	// Unknown is the value of what is not known. It is never written as 0.
	Unknown = "unknown"
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
	// EventQuotaExceeded is recorded on the namespace when a pod was beyond the team's
	// quota, or would have been refused where the mode were enforce.
	EventQuotaExceeded = "QuotaExceeded"
	// EventOwnerMissing is recorded on the namespace when a pod has no known team or
	// owner.
	EventOwnerMissing = "OwnerMissing"
	// EventConfigRejected is recorded on a ConfigMap whose content is not valid, so that
	// the last good one stays in force.
	EventConfigRejected = "ConfigRejected"
)
