package dcgm

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/telemetry/sample"
)

const (
	corpusDir = "testdata/corpus"
	// sharedCorpus lies beside the project where the project's material is at hand.
	sharedCorpus = "../../../../shared/data/corpus/dcgm"
)

const mib = 1 << 20

var fetchedAt = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// known lists every field that must be known; all others must be Unknown.
type known map[sample.Field]float64

type wantPartition struct {
	GI, Profile, UUID string
	Attribution       string
	Holders           []sample.Holder
	Known             known
}

type wantDevice struct {
	UUID, Index, Model, PCI, Driver string
	MIG                             bool
	Attribution                     string
	Holders                         []sample.Holder
	Known                           known
	Partitions                      []wantPartition
}

type wantReading struct {
	Node     string
	Devices  []wantDevice
	Problems []sample.Problem
}

var a100 = wantDevice{
	UUID: "GPU-7099682b-a20d-2bcc-74ab-b9060454d81e", Index: "0",
	Model: "NVIDIA A100-SXM4-40GB", Driver: "520.56.06",
}

func (d wantDevice) with(change func(*wantDevice)) []wantDevice {
	change(&d)
	return []wantDevice{d}
}

// wantCorpus has one row per capture: its INDEX line, as values. A field that is
// not listed is unknown, which is half of what is asserted here.
var wantCorpus = map[string]wantReading{
	// MEMORY_TEMP 0 is "no sensor". No XID series at all: unknown, not "no fault".
	"l4-idle-driver580.prom": {
		Node: "gpu-node-1",
		Devices: []wantDevice{{
			UUID: "GPU-c2f76b33-7953-256e-8f33-1343419b1a1c", Index: "0", Model: "NVIDIA L4",
			PCI: "00000000:31:00", Driver: "580.105.08", Attribution: "none",
			Known: known{
				sample.EngineActive: 0, sample.TensorActive: 0, sample.DRAMActive: 0,
				sample.GPUUtil: 0, sample.MemCopyUtil: 0,
				sample.FBUsed: 0, sample.FBFree: 22563 * mib,
				sample.Power: 16.365, sample.Energy: 4742.776, sample.SMClock: 210e6, sample.GPUTemp: 31,
				sample.PCIeReplays: 0, sample.RowRemapFailure: 0,
				sample.CorrectableRemaps: 0, sample.UncorrectableRemaps: 0,
			},
		}},
	},
	// No GPU_UTIL series; the pod labels are there and empty. 75 W while idle.
	"mig-a100-40gb-1x1g-allocated-idle.prom": {
		Node: "nvidia-dcgm-exporter-m48cc",
		Devices: a100.with(func(d *wantDevice) {
			d.MIG, d.Attribution = true, "unknown"
			d.Known = known{
				sample.Power: 75.69, sample.Energy: 4617.218, sample.SMClock: 1410e6,
				sample.GPUTemp: 32, sample.MemTemp: 30, sample.XID: 0, sample.PCIeReplays: 0,
			}
			d.Partitions = []wantPartition{{GI: "8", Profile: "1g.5gb", Attribution: "empty", Known: known{
				sample.EngineActive: 0, sample.TensorActive: 0, sample.DRAMActive: 0,
				sample.FBUsed: 6 * mib, sample.FBFree: 4857 * mib, sample.XID: 0,
			}}}
		}),
	},
	"mig-a100-40gb-1x1g-busy.prom": {
		Node: "nvidia-dcgm-exporter-km55s",
		Devices: a100.with(func(d *wantDevice) {
			d.MIG, d.Attribution = true, "unknown"
			d.Known = known{
				sample.Power: 115.294, sample.Energy: 27151.028, sample.SMClock: 1410e6,
				sample.GPUTemp: 37, sample.MemTemp: 39, sample.XID: 0, sample.PCIeReplays: 0,
			}
			d.Partitions = []wantPartition{{GI: "9", Profile: "1g.5gb", Attribution: "empty", Known: known{
				sample.EngineActive: 0.999892, sample.TensorActive: 0.000118, sample.DRAMActive: 0.622646,
				sample.FBUsed: 4384 * mib, sample.FBFree: 480 * mib, sample.XID: 0,
			}}}
		}),
	},
	// Power is 112.252 W on two rows and 106.463 W on two: one board, sampled twice.
	"mig-a100-40gb-3x1g-1x2g.prom": {
		Node: "nvidia-dcgm-exporter-tl46n",
		Devices: a100.with(func(d *wantDevice) {
			d.UUID = "GPU-473571f2-fb37-ef7e-50fe-9885b74a23cd"
			d.MIG, d.Attribution = true, "unknown"
			d.Known = known{
				sample.Power: 112.252, sample.Energy: 6890.956, sample.SMClock: 1410e6,
				sample.GPUTemp: 35, sample.MemTemp: 36, sample.XID: 0, sample.PCIeReplays: 0,
			}
			idle := func(used, free float64) known {
				return known{
					sample.EngineActive: 0, sample.TensorActive: 0, sample.DRAMActive: 0,
					sample.FBUsed: used * mib, sample.FBFree: free * mib, sample.XID: 0,
				}
			}
			d.Partitions = []wantPartition{
				{GI: "5", Profile: "2g.10gb", Attribution: "empty", Known: idle(13, 9843)},
				{GI: "7", Profile: "1g.5gb", Attribution: "empty", Known: idle(6, 4857)},
				{GI: "8", Profile: "1g.5gb", Attribution: "empty", Known: known{
					sample.EngineActive: 0.408493, sample.TensorActive: 0.000048, sample.DRAMActive: 0.250816,
					sample.FBUsed: 4384 * mib, sample.FBFree: 480 * mib, sample.XID: 0,
				}},
				{GI: "9", Profile: "1g.5gb", Attribution: "empty", Known: idle(6, 4857)},
			}
		}),
	},
	// MIG on without instances looks like a whole GPU that lacks some series, so MIG
	// stays false; memory, utilization and remaps are unknown.
	"mig-a100-40gb-enabled-no-instances.prom": {
		Node: "nvidia-dcgm-exporter-wwvv9",
		Devices: a100.with(func(d *wantDevice) {
			d.Attribution = "empty"
			d.Known = known{
				sample.EngineActive: 0.000033, sample.TensorActive: 0, sample.DRAMActive: 0.000005,
				sample.Power: 75.96, sample.Energy: 8981.778, sample.SMClock: 1410e6,
				sample.GPUTemp: 32, sample.MemTemp: 30, sample.XID: 0, sample.PCIeReplays: 0,
			}
		}),
	},
	// A title, rules and two scrapes: one device, and nothing twice.
	"a100-40gb-mig-disabled-two-scrapes.txt": {
		Node: "nvidia-dcgm-exporter-drqwq",
		Devices: a100.with(func(d *wantDevice) {
			d.Attribution = "empty"
			d.Known = known{
				sample.EngineActive: 0, sample.TensorActive: 0, sample.DRAMActive: 0,
				sample.GPUUtil: 0, sample.MemCopyUtil: 0,
				sample.FBUsed: 0, sample.FBFree: 40384 * mib,
				sample.Power: 45.999, sample.Energy: 424405.577, sample.SMClock: 210e6,
				sample.GPUTemp: 29, sample.MemTemp: 28, sample.XID: 0, sample.PCIeReplays: 0,
				sample.RowRemapFailure: 0, sample.CorrectableRemaps: 0, sample.UncorrectableRemaps: 0,
			}
		}),
		Problems: []sample.Problem{
			{Where: "series", Why: "17 series came more than once; the last of each counts"},
			{Where: "line 3", Why: "2 lines are no metrics; this is the first"},
		},
	},
	// GPU 0 is held by a placeholder pod: that is what labels can say.
	"t4x2-fraction-reservation-pod.prom": {
		Node: "nvidia-dcgm-exporter-s228n",
		Devices: []wantDevice{{
			UUID: "GPU-7a2e92f2-be71-d37e-a744-541600ffc722", Index: "0", Model: "Tesla T4", Driver: "525.60.13",
			Attribution: "held",
			Holders: []sample.Holder{{
				Namespace: "runai-reservation", Pod: "runai-reservation-gpu-gpu-node-t4-kvltw", Container: "runai-reservation",
			}},
			Known: known{
				sample.EngineActive: 0.000039, sample.TensorActive: 0, sample.DRAMActive: 0.000002,
				sample.GPUUtil: 0, sample.MemCopyUtil: 0,
				sample.FBUsed: 128 * mib, sample.FBFree: 14831 * mib,
				sample.Power: 28.722, sample.Energy: 9022.652, sample.SMClock: 585e6, sample.GPUTemp: 55,
				sample.XID: 0, sample.PCIeReplays: 0,
			},
		}, {
			UUID: "GPU-5f587dd4-6505-0873-c6db-8324dbfe5ba9", Index: "1", Model: "Tesla T4", Driver: "525.60.13",
			Attribution: "none",
			Known: known{
				sample.EngineActive: 0, sample.TensorActive: 0, sample.DRAMActive: 0.000001,
				sample.GPUUtil: 0, sample.MemCopyUtil: 0,
				sample.FBUsed: 5 * mib, sample.FBFree: 14955 * mib,
				sample.Power: 17.035, sample.Energy: 8855.497, sample.SMClock: 300e6, sample.GPUTemp: 52,
				sample.XID: 0, sample.PCIeReplays: 0,
			},
		}},
	},
	// The instance's UUID is in a DRA label, the row's UUID is the parent's.
	"dra-a30-mig-attributed.prom": {
		Node: "gpu-node-12",
		Devices: []wantDevice{{
			UUID: "GPU-f50641a9-38d7-6df1-0bec-e661b4ca1847", Index: "0", Model: "NVIDIA A30",
			PCI: "00000000:3b:00", Attribution: "none", Known: known{sample.SMClock: 210e6},
		}, {
			UUID: "GPU-e04ce2a0-21a4-b68c-854a-f5c0d26bfc0b", Index: "1", Model: "NVIDIA A30",
			PCI: "00000000:d8:00", MIG: true, Attribution: "unknown", Known: known{sample.SMClock: 1440e6},
			Partitions: []wantPartition{{
				GI: "3", Profile: "1g.6gb", UUID: "MIG-c73ab1c4-6cb7-59b6-be7e-21c4ac35c3b6", Attribution: "held",
				Holders: []sample.Holder{{
					Namespace: "gpu-test4", Pod: "pod-c98945f5d-dnjs6", Container: "ctr0",
					Claim: "gpu-test4/pod-c98945f5d-dnjs6-mig-devices-thfdj",
				}},
				Known: known{},
			}},
		}},
	},
	// 9223372036854775794 is DCGM's NOT_SUPPORTED.
	"blank-sentinel-memory-temp.prom": {
		Devices: []wantDevice{{
			UUID: "GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52", Index: "0", Attribution: "empty",
			Known: known{sample.SMClock: 139e6},
		}},
	},
	// 0.714 three times is 0.714.
	"timesliced-3pods-identical.prom": {
		Devices: []wantDevice{{
			Index: "0", Attribution: "held", Known: known{sample.EngineActive: 0.714},
			Holders: []sample.Holder{
				{Namespace: "default", Pod: "gpu-workload-1", Container: "main"},
				{Namespace: "default", Pod: "gpu-workload-2", Container: "main"},
				{Namespace: "default", Pod: "gpu-workload-3", Container: "main"},
			},
		}},
	},
	// pod, namespace and container are the exporter's own.
	"scraped-by-prometheus-exported-labels.prom": {
		Node: "gpu-node-13",
		Devices: []wantDevice{{
			UUID: "GPU-00000000-0000-0000-0000-000000000013", Index: "0", Model: "NVIDIA GeForce RTX 4090",
			Driver: "545.29.06", Attribution: "held", Known: known{sample.GPUTemp: 40},
			Holders: []sample.Holder{
				{Namespace: "default", Pod: "pod1", Container: "container-a"},
				{Namespace: "default", Pod: "pod2", Container: "container-b"},
			},
		}},
	},
}

func TestEveryCaptureReadsAsItsIndexLineSays(t *testing.T) {
	for _, file := range slices.Sorted(maps.Keys(wantCorpus)) {
		t.Run(file, func(t *testing.T) {
			batch := Read(capture(t, file), Origin{Endpoint: file, FetchedAt: fetchedAt, Budget: time.Minute})
			if diff := cmp.Diff(wantCorpus[file], asWanted(batch)); diff != "" {
				t.Errorf("reading differs (-want +got):\n%s", diff)
			}
			if !batch.ObservedAt.Equal(fetchedAt) || !batch.AgeIsLowerBound {
				t.Errorf("observed at %v, lower bound %v; the capture has no times, so want the fetch and a lower bound",
					batch.ObservedAt, batch.AgeIsLowerBound)
			}
		})
	}
	t.Log("\n" + corpusTable(t))
}

// CRLF line ends and OpenMetrics' end mark change nothing about any capture.
func TestCapturesReadTheSameWithOtherLineEnds(t *testing.T) {
	for file := range wantCorpus {
		body := bytes.ReplaceAll(capture(t, file), []byte("\n"), []byte("\r\n"))
		body = append(body, "# EOF\n"...)
		batch := Read(body, Origin{FetchedAt: fetchedAt})
		if diff := cmp.Diff(wantCorpus[file], asWanted(batch)); diff != "" {
			t.Errorf("%s with CRLF differs (-want +got):\n%s", file, diff)
		}
	}
}

func TestNoCaptureIsWithoutARow(t *testing.T) {
	for _, file := range list(t, corpusDir) {
		if _, asserted := wantCorpus[file]; !asserted {
			t.Errorf("%s has no row", file)
		}
	}
	if _, err := os.Stat(sharedCorpus); err != nil {
		t.Skipf("the shared corpus is not beside the project, so only the copies were checked: %v", err)
	}
	for _, file := range list(t, sharedCorpus) {
		shared, err := os.ReadFile(filepath.Join(sharedCorpus, file))
		if err != nil {
			t.Fatal(err)
		}
		if copied, err := os.ReadFile(filepath.Join(corpusDir, file)); err != nil || !bytes.Equal(shared, copied) {
			t.Errorf("%s of the shared corpus is not in %s as it is (%v)", file, corpusDir, err)
		}
	}
}

func capture(t testing.TB, file string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(corpusDir, file))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	return names
}

func asWanted(batch sample.Batch) wantReading {
	got := wantReading{Node: batch.Node, Problems: batch.Problems}
	for _, device := range batch.Devices {
		d := wantDevice{
			UUID: device.UUID, Index: device.Index, Model: device.Model, PCI: device.PCIBusID,
			Driver: device.DriverVersion, MIG: device.MIG, Attribution: device.Attribution.String(),
			Holders: device.Holders, Known: knownOf(device.Fields),
		}
		for _, part := range device.Partitions {
			d.Partitions = append(d.Partitions, wantPartition{
				GI: part.GI, Profile: part.Profile, UUID: part.UUID, Attribution: part.Attribution.String(),
				Holders: part.Holders, Known: knownOf(part.Fields),
			})
		}
		got.Devices = append(got.Devices, d)
	}
	return got
}

func knownOf(fields sample.Fields) known {
	numbers := known{}
	for field, value := range fields {
		if number, isKnown := value.Get(); isKnown {
			numbers[sample.Field(field)] = number
		}
	}
	return numbers
}
