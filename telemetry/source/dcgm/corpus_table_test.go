package dcgm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"wastenot.dev/telemetry/sample"
)

// corpusTable prints what each capture reads as, one row per file, for people.
func corpusTable(t *testing.T) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "file\tGPUs\tinstances\tholders\tengine\tmemory used MiB\tpower W\tmem temp\tGPU util\tXID\tlost")
	for _, file := range slices.Sorted(maps.Keys(wantCorpus)) {
		batch := Read(capture(t, file), Origin{FetchedAt: fetchedAt})
		var gpus, instances, holders, engine, used, power, memTemp, util, xid []string
		for _, device := range batch.Devices {
			gpus = append(gpus, device.Index+":"+short(device.UUID))
			power = append(power, device.Fields[sample.Power].String())
			memTemp = append(memTemp, device.Fields[sample.MemTemp].String())
			util = append(util, device.Fields[sample.GPUUtil].String())
			xid = append(xid, device.Fields[sample.XID].String())
			rows := []struct {
				fields      sample.Fields
				attribution sample.Attribution
				holders     []sample.Holder
			}{{device.Fields, device.Attribution, device.Holders}}
			if device.MIG {
				rows = rows[:0]
			}
			for _, part := range device.Partitions {
				instances = append(instances, "GI "+part.GI+" "+part.Profile)
				rows = append(rows, struct {
					fields      sample.Fields
					attribution sample.Attribution
					holders     []sample.Holder
				}{part.Fields, part.Attribution, part.Holders})
			}
			for _, row := range rows {
				engine = append(engine, row.fields[sample.EngineActive].String())
				used = append(used, inMiB(row.fields[sample.FBUsed]))
				holders = append(holders, who(row.attribution, row.holders))
			}
		}
		fmt.Fprintln(w, strings.Join([]string{
			file, cell(gpus), cell(instances), cell(holders), cell(engine), cell(used), cell(power),
			cell(memTemp), cell(util), cell(xid), fmt.Sprint(len(batch.Problems)),
		}, "\t"))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// cell joins values, leaving out repetitions of one and the same.
func cell(values []string) string {
	if len(values) == 0 {
		return "-"
	}
	if same := slices.Compact(slices.Clone(values)); len(same) == 1 {
		return same[0]
	}
	return strings.Join(values, ", ")
}

func short(uuid string) string {
	if uuid == "" {
		return "no UUID"
	}
	return uuid[:min(len(uuid), len("GPU-12345678"))]
}

func inMiB(value sample.Value) string {
	if bytes, isKnown := value.Get(); isKnown {
		return fmt.Sprint(bytes / mib)
	}
	return value.String()
}

func who(attribution sample.Attribution, holders []sample.Holder) string {
	if len(holders) == 0 {
		return attribution.String()
	}
	names := make([]string, 0, len(holders))
	for _, holder := range holders {
		names = append(names, holder.Namespace+"/"+holder.Pod)
	}
	return strings.Join(names, " + ")
}
