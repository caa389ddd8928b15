package dcgm

import (
	"strings"

	dto "github.com/prometheus/client_model/go"

	"wastenot.dev/telemetry/sample"
)

// rowLabels is what the labels of one row say, in every spelling that the
// exporter's versions use.
type rowLabels struct {
	uuid, index, host        string
	model, pciBusID, driver  string
	instance, computeInst    string
	profile, migUUID         string
	virtualGPU               string
	owner                    ownership
	claimNamespace, claimKey string
}

// parseLabels reads the labels of one row. Labels that the product does not use
// are passed over.
func parseLabels(pairs []*dto.LabelPair) rowLabels {
	var row rowLabels
	var instance, job bool
	for _, pair := range pairs {
		value := pair.GetValue()
		switch name := pair.GetName(); name {
		case "instance":
			instance = true
		case "job":
			job = true
		default:
			if target := row.target(name); target != nil {
				*target = value
			} else {
				row.owner.set(name, value)
			}
		}
	}
	row.owner.relayed = instance && job
	if row.claimKey != "" {
		row.owner.claim = row.claimNamespace + "/" + row.claimKey
	}
	row.settle(pairs)
	return row
}

// target is where the value of an identity label belongs, nil for other labels.
func (r *rowLabels) target(name string) *string {
	switch name {
	case "UUID", "uuid":
		return &r.uuid
	case "gpu":
		return &r.index
	case "Hostname", "hostname": // renamed in dcgm-exporter#655
		return &r.host
	case "modelName":
		return &r.model
	case "pci_bus_id":
		return &r.pciBusID
	case "DCGM_FI_DRIVER_VERSION":
		return &r.driver
	}
	return r.partitionTarget(name)
}

func (r *rowLabels) partitionTarget(name string) *string {
	switch name {
	case "GPU_I_ID":
		return &r.instance
	case "GPU_CI_ID": // newer exporters, on fields of compute instances
		return &r.computeInst
	case "GPU_I_PROFILE":
		return &r.profile
	case "dra_mig_device_uuid":
		return &r.migUUID
	case "vgpu":
		return &r.virtualGPU
	case "dra_claim_name":
		return &r.claimKey
	case "dra_claim_namespace":
		return &r.claimNamespace
	}
	return nil
}

// settle fills identity that is spelt in another label: the index in "device",
// the profile in "dra_mig_profile".
func (r *rowLabels) settle(pairs []*dto.LabelPair) {
	if r.index != "" && (r.instance == "" || r.profile != "") {
		return
	}
	for _, pair := range pairs {
		switch pair.GetName() {
		case "device":
			if index, found := strings.CutPrefix(pair.GetValue(), "nvidia"); found && r.index == "" {
				r.index = index
			}
		case "dra_mig_profile":
			if r.profile == "" {
				r.profile = pair.GetValue()
			}
		}
	}
}

// located tells whether the row says what device it is about.
func (r *rowLabels) located() bool { return r.uuid != "" || r.index != "" }

// splitLegacyUUID reads "MIG-GPU-<uuid>/<gi>/<ci>", by which drivers before 470
// named an instance.
func (r *rowLabels) splitLegacyUUID() {
	rest, legacy := strings.CutPrefix(r.uuid, "MIG-GPU-")
	if !legacy {
		return
	}
	parts := strings.Split(rest, "/")
	if len(parts) != 3 {
		return
	}
	r.migUUID = r.uuid
	r.uuid, r.instance, r.computeInst = "GPU-"+parts[0], parts[1], parts[2]
}

// ownership is what the pod labels of one row say, before it is known whether
// "pod" names the user or, after a Prometheus without honorLabels, the exporter.
type ownership struct {
	plain, exported         sample.Holder
	plainSeen, exportedSeen bool
	// relayed: the row has been through a Prometheus, which adds instance and job.
	relayed bool
	claim   string
}

func (o *ownership) set(label, value string) {
	holder, seen := &o.plain, &o.plainSeen
	name, exported := strings.CutPrefix(label, "exported_")
	if exported {
		holder, seen = &o.exported, &o.exportedSeen
	}
	switch name {
	case "pod":
		holder.Pod = value
	case "namespace":
		holder.Namespace = value
	case "container":
		holder.Container = value
	default:
		return
	}
	*seen = true
}

// resolve says who holds the device as far as this row knows. exported is true
// when any row of the body has exported_ labels: then the plain ones name the
// exporter on every row, also on those of devices that nobody holds.
//
// In a relayed body without any exported_ label the plain ones may be either, so
// they say nothing.
func (o ownership) resolve(exported bool) (sample.Holder, sample.Attribution) {
	user, seen := o.plain, o.plainSeen
	ambiguous := false
	switch {
	case exported:
		user, seen = o.exported, o.exportedSeen
	case o.relayed && o.plainSeen:
		user, ambiguous = sample.Holder{}, true
	}
	user.Claim = o.claim
	switch {
	case user.Pod != "" || user.Claim != "":
		return user, sample.AttributionHeld
	case ambiguous:
		return sample.Holder{}, sample.AttributionUnknown
	case seen:
		return sample.Holder{}, sample.AttributionEmpty
	default:
		return sample.Holder{}, sample.AttributionNone
	}
}
