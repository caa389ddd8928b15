package dcgm

import "wastenot.dev/telemetry/sample"

// fold merges the filed values into the fields of their device or partition.
func (r *rows) fold() {
	raised := make([]sample.Fields, len(r.devices)) // board values from instance rows
	differ := make([]bool, len(r.devices))
	for key, value := range r.values {
		spec := fieldSpecs[key.name]
		device := &r.devices[key.device]
		if key.partition == wholeDevice {
			differ[key.device] = spec.fold(&device.Fields, value) || differ[key.device]
			continue
		}
		if spec.scope != ofBoard {
			differ[key.device] = spec.fold(&device.parts[key.partition].Fields, value) || differ[key.device]
		}
		if spec.scope != ofInstance {
			spec.fold(&raised[key.device], value)
		}
	}
	for number := range r.devices {
		r.devices[number].raise(&raised[number])
		r.devices[number].joinSingleComputeInstances()
		r.devices[number].clean()
		if differ[number] && !r.devices[number].virtual {
			r.lost.add(name(&r.devices[number].Device), "its readings differ from pod to pod; the largest are kept")
		}
	}
}

// fold merges one value into its field and tells whether the field had another.
func (s *fieldSpec) fold(fields *sample.Fields, value sample.Value) bool {
	before := fields[s.field]
	fields[s.field] = s.merge.combine(before, value)
	return before.IsKnown() && value.IsKnown() && before != value
}

// raise merges what instance rows say about the board into the device.
func (d *deviceRows) raise(board *sample.Fields) {
	for _, spec := range fieldSpecs {
		own := d.Fields[spec.field]
		if code, known := own.Get(); spec.field == sample.XID && known && code != 0 {
			continue
		}
		d.Fields[spec.field] = spec.merge.combine(own, board[spec.field])
	}
}

// joinSingleComputeInstances makes one partition of a GPU instance and its only
// compute instance. Exporters that label compute instances do so on some fields
// only, so that the rest of the same thing comes without the label. A GPU instance
// with several compute instances stays beside them, as the partition without CI.
func (d *deviceRows) joinSingleComputeInstances() {
	count := map[string]int{}
	for _, part := range d.parts {
		if part.CI != "" {
			count[part.GI]++
		}
	}
	whole := map[string]*partitionRows{}
	var kept []partitionRows
	for i := range d.parts {
		if part := &d.parts[i]; part.CI == "" && count[part.GI] == 1 {
			whole[part.GI] = part
			continue
		}
		kept = append(kept, d.parts[i])
	}
	for i := range kept {
		if from := whole[kept[i].GI]; from != nil {
			kept[i].join(from)
		}
	}
	d.parts = kept
}

func (p *partitionRows) join(whole *partitionRows) {
	for field, value := range whole.Fields {
		if !p.Fields[field].IsKnown() {
			p.Fields[field] = value
		}
	}
	fill(&p.Profile, whole.Profile)
	fill(&p.UUID, whole.UUID)
	p.owners = append(p.owners, whole.owners...)
}

// clean makes Unknown what the device cannot have measured.
func (d *deviceRows) clean() {
	unmeasured(&d.Fields)
	for i := range d.parts {
		unmeasured(&d.parts[i].Fields)
		d.parts[i].Fields[sample.GPUUtil] = sample.Unknown
		d.parts[i].Fields[sample.MemCopyUtil] = sample.Unknown
	}
	if len(d.parts) > 0 {
		d.Fields[sample.GPUUtil] = sample.Unknown
		d.Fields[sample.MemCopyUtil] = sample.Unknown
	}
}

func unmeasured(fields *sample.Fields) {
	if fields[sample.FBUsed].Is(0) && fields[sample.FBFree].Is(0) {
		fields[sample.FBUsed] = sample.Unknown
		fields[sample.FBFree] = sample.Unknown
	}
}
