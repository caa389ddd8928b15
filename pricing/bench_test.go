package pricing

import (
	"fmt"
	"testing"

	"wastenot.dev/internal/accelerator"
)

// benchNodes is how many candidates a pod of a large cluster has.
const benchNodes = 1000

func BenchmarkHourly(b *testing.B) {
	book := parsed(b, rules)
	node := with(with(nodeOf("p4d.24xlarge", "us-east-1"), "nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB"), "nvidia.com/gpu.replicas", "4")
	for name, class := range map[string]string{"device": "nvidia.com/gpu", "mig": "nvidia.com/mig-1g.5gb", "slice": "nvidia.com/gpu.shared"} {
		b.Run(name, func(b *testing.B) {
			option := Option{Node: node, Wants: []accelerator.Demand{want(class, 2)}}
			b.ReportAllocs()
			for b.Loop() {
				book.Hourly(option, noon)
			}
		})
	}
}

func BenchmarkRange(b *testing.B) {
	types := []string{"p5.48xlarge", "g6.xlarge", "p4d.24xlarge", "metal", "on-prem", "Standard_ND96isr_H100_v5"}
	text := rules
	for i := range benchNodes {
		text += fmt.Sprintf("- {nodeSelector: {pool: p%d, site: a}, perDeviceHour: 1}\n", i)
	}
	for name, book := range map[string]*Book{"built-in": Default(), "1000 rules": parsed(b, text)} {
		b.Run(name, func(b *testing.B) {
			options := make([]Option, benchNodes)
			for i := range options {
				node := with(with(nodeOf(types[i%len(types)], "us-east-1"), "nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB"), "pool", fmt.Sprintf("p%d", i))
				options[i] = Option{Node: node, Wants: gpus(1)}
			}
			b.ReportAllocs()
			for b.Loop() {
				book.Range(options, true, noon)
			}
		})
	}
}
