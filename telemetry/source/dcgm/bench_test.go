package dcgm

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// eightGPUs is the L4 capture served for eight devices with a pod each: what a
// default exporter on a full 8-GPU node answers.
func eightGPUs(tb testing.TB) []byte {
	one := capture(tb, "l4-idle-driver580.prom")
	var all bytes.Buffer
	for line := range bytes.Lines(one) {
		if line[0] == '#' {
			all.Write(line)
			continue
		}
		for gpu := range 8 {
			row := bytes.Replace(line, []byte(`gpu="0"`), fmt.Appendf(nil, `gpu="%d"`, gpu), 1)
			row = bytes.Replace(row, []byte("GPU-c2f76b33"), fmt.Appendf(nil, "GPU-c2f76b3%d", gpu), 1)
			row = bytes.Replace(row, []byte(`}`), fmt.Appendf(nil, `,container="main",namespace="team-a",pod="train-%d"}`, gpu), 1)
			all.Write(row)
		}
	}
	return all.Bytes()
}

func BenchmarkRead(b *testing.B) {
	for _, test := range []struct {
		label string
		body  []byte
	}{
		{"8GPUs", eightGPUs(b)},
		{"MIG4Instances", capture(b, "mig-a100-40gb-3x1g-1x2g.prom")},
	} {
		b.Run(test.label, func(b *testing.B) {
			b.SetBytes(int64(len(test.body)))
			b.ReportAllocs()
			for b.Loop() {
				if batch := Read(test.body, Origin{FetchedAt: fetchedAt, Budget: time.Minute}); len(batch.Devices) == 0 {
					b.Fatal("no devices")
				}
			}
		})
	}
}

func TestTheBenchmarkBodyIsEightDevices(t *testing.T) {
	batch := Read(eightGPUs(t), Origin{FetchedAt: fetchedAt})
	if len(batch.Devices) != 8 || len(batch.Problems) != 0 {
		t.Errorf("%d devices, problems %q; want 8 and none", len(batch.Devices), whys(batch))
	}
}
