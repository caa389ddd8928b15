package pricing

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"wastenot.dev/internal/accelerator"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// nodeOf is a node of an instance type and region; change it with with and offering.
func nodeOf(instanceType, region string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelInstanceTypeStable: instanceType, corev1.LabelTopologyRegion: region}},
		Status:     corev1.NodeStatus{Capacity: corev1.ResourceList{}},
	}
}

func with(node *corev1.Node, key, value string) *corev1.Node {
	node.Labels[key] = value
	return node
}

func offering(node *corev1.Node, name corev1.ResourceName, count int64) *corev1.Node {
	node.Status.Capacity[name] = *resource.NewQuantity(count, resource.DecimalSI)
	return node
}

// want is a demand for units of a resource, or of a DeviceClass.
func want(class string, count int64) accelerator.Demand {
	name := corev1.ResourceName(class)
	kind := accelerator.KindOf(name)
	if kind == accelerator.KindNone {
		kind = accelerator.KindDRA
	}
	return accelerator.Demand{Class: class, Kind: kind, Profile: accelerator.ProfileOf(name), Count: count}
}

func gpus(count int64) []accelerator.Demand {
	return []accelerator.Demand{want("nvidia.com/gpu", count)}
}

func parsed(t testing.TB, text string) *Book {
	t.Helper()
	book, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return book
}

// priced is what a golden table says of a price; an amount is as people read it.
type priced struct {
	Amount     string
	Basis      Basis
	Confidence Confidence
}

func pricedOf(p Price) priced { return priced{amountOr(p.Micros, p.Known), p.Basis, p.Confidence} }

var unpriced = priced{"unknown", BasisUnknown, ConfidenceNone}

func TestHourlyByTheBuiltInList(t *testing.T) {
	mig := func(profile string, count int64) []accelerator.Demand {
		return []accelerator.Demand{want("nvidia.com/mig-"+profile, count)}
	}
	p4d := func() *corev1.Node {
		return with(nodeOf("p4d.24xlarge", "us-east-1"), "nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB")
	}
	sliced := func(replicas string) *corev1.Node {
		return with(with(nodeOf("g6.xlarge", "us-east-1"), "nvidia.com/gpu.product", "NVIDIA-L4-SHARED"), "nvidia.com/gpu.replicas", replicas)
	}
	renamed := with(with(nodeOf("g6.xlarge", "us-east-1"), "nvidia.com/gpu.replicas", "4"), "nvidia.com/gpu.sharing-strategy", "mps")
	tests := map[string]struct {
		node  *corev1.Node
		wants []accelerator.Demand
		want  priced
	}{
		"one of eight H100":          {nodeOf("p5.48xlarge", "us-east-1"), gpus(1), priced{"6.88", BasisWhole, ConfidencePinned}},
		"all eight":                  {nodeOf("p5.48xlarge", "us-east-1"), gpus(8), priced{"55.04", BasisWhole, ConfidencePinned}},
		"one of eight A100":          {p4d(), gpus(1), priced{"2.744705", BasisWhole, ConfidencePinned}}, // 21.957642/8 = 2.74470525
		"1g.5gb":                     {p4d(), mig("1g.5gb", 1), priced{"0.392101", BasisMIG, ConfidencePinned}},
		"3g.20gb":                    {p4d(), mig("3g.20gb", 2), priced{"2.744705", BasisMIG, ConfidencePinned}},
		"1g.10gb takes two slices":   {p4d(), mig("1g.10gb", 4), priced{"2.744705", BasisMIG, ConfidencePinned}},
		"an attribute":               {p4d(), mig("1g.5gb.me", 1), priced{"0.392101", BasisMIG, ConfidencePinned}},
		"a profile of another card":  {p4d(), mig("1g.20gb", 1), unpriced},
		"MIG, and no product label":  {nodeOf("p4d.24xlarge", "us-east-1"), mig("1g.5gb", 1), priced{"0.392101", BasisMIG, ConfidencePinned}},
		"MIG, by the list's size":    {nodeOf("p5.48xlarge", "us-east-1"), mig("3g.40gb", 1), priced{"3.44", BasisMIG, ConfidencePinned}},
		"MIG of an L4":               {sliced("4"), mig("1g.5gb", 1), unpriced},
		"a slice of MIG":             {with(p4d(), "nvidia.com/mig-1g.5gb.replicas", "2"), mig("1g.5gb.shared", 1), priced{"0.19605", BasisMixed, ConfidencePinned}},
		"a slice of MIG, unknown":    {p4d(), mig("1g.5gb.shared", 1), unpriced},
		"a slice by MIG's own name":  {with(with(p4d(), "nvidia.com/mig-1g.5gb.replicas", "2"), "nvidia.com/mig-1g.5gb.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"), mig("1g.5gb", 1), priced{"0.19605", BasisMixed, ConfidencePinned}},
		"single strategy":            {with(with(nodeOf("p4d.24xlarge", "us-east-1"), "nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"), "nvidia.com/gpu.count", "56"), gpus(1), priced{"0.392101", BasisMIG, ConfidencePinned}},
		"single strategy, shared":    {with(with(nodeOf("p4d.24xlarge", "us-east-1"), "nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"), "nvidia.com/gpu.replicas", "2"), gpus(1), priced{"0.19605", BasisMixed, ConfidencePinned}},
		"a quarter of an L4":         {sliced("4"), gpus(1), priced{"0.2012", BasisTimeslice, ConfidencePinned}},
		"four quarters":              {sliced("4"), gpus(4), priced{"0.8048", BasisTimeslice, ConfidencePinned}},
		"a quarter, renamed":         {renamed, []accelerator.Demand{want("nvidia.com/gpu.shared", 1)}, priced{"0.2012", BasisTimeslice, ConfidencePinned}},
		"a quarter by MPS":           {renamed, gpus(1), priced{"0.2012", BasisTimeslice, ConfidencePinned}},
		"sharing of one":             {with(with(nodeOf("g6.xlarge", "us-east-1"), "nvidia.com/gpu.replicas", "1"), "nvidia.com/gpu.sharing-strategy", "time-slicing"), gpus(1), priced{"0.8048", BasisWhole, ConfidencePinned}},
		"no sharing":                 {with(with(nodeOf("g6.xlarge", "us-east-1"), "nvidia.com/gpu.replicas", "1"), "nvidia.com/gpu.sharing-strategy", "none"), gpus(1), priced{"0.8048", BasisWhole, ConfidencePinned}},
		"replicas are not known":     {with(nodeOf("g6.xlarge", "us-east-1"), "nvidia.com/gpu.product", "NVIDIA-L4-SHARED"), gpus(1), unpriced},
		"replicas of nothing":        {sliced("0"), gpus(1), unpriced},
		"replicas in text":           {sliced("four"), gpus(1), unpriced},
		"replicas below nothing":     {sliced("-4"), gpus(1), unpriced},
		"shared, and not said how":   {nodeOf("g6.xlarge", "us-east-1"), []accelerator.Demand{want("nvidia.com/gpu.shared", 1)}, unpriced},
		"an eighth of an L4, g6f":    {nodeOf("g6f.large", "us-east-1"), gpus(1), priced{"0.202", BasisWhole, ConfidencePinned}},
		"half an L4, g6f":            {offering(nodeOf("g6f.4xlarge", "us-east-1"), "nvidia.com/gpu", 1), gpus(1), priced{"0.95", BasisWhole, ConfidencePinned}},
		"a sixth of an A10":          {nodeOf("Standard_NV6ads_A10_v5", "westeurope"), gpus(1), priced{"0.59", BasisWhole, ConfidencePinned}},
		"no price is published":      {nodeOf("trn2.48xlarge", "us-east-1"), []accelerator.Demand{want("aws.amazon.com/neuron", 1)}, unpriced},
		"Azure":                      {nodeOf("Standard_ND96isr_H100_v5", "westeurope"), gpus(1), priced{"15.977", BasisWhole, ConfidencePinned}},
		"Azure elsewhere: dearest":   {nodeOf("Standard_ND96isr_H100_v5", "brazilsouth"), gpus(8), priced{"127.816", BasisWhole, ConfidenceOtherRegion}},
		"GCP":                        {nodeOf("a2-megagpu-16g", "us-central1"), gpus(1), priced{"3.483719", BasisWhole, ConfidencePinned}}, // 55.73951/16 = 3.483719375
		"GCP without a price":        {nodeOf("a4-highgpu-8g", "us-central1"), gpus(1), unpriced},
		"another region":             {nodeOf("p5.48xlarge", "eu-west-1"), gpus(1), priced{"6.88", BasisWhole, ConfidenceOtherRegion}},
		"no region":                  {nodeOf("p5.48xlarge", ""), gpus(1), priced{"6.88", BasisWhole, ConfidenceOtherRegion}},
		"a failed device is gone":    {offering(with(nodeOf("p5.48xlarge", "us-east-1"), "nvidia.com/gpu.count", "7"), "nvidia.com/gpu", 7), gpus(1), priced{"6.88", BasisWhole, ConfidencePinned}},
		"an instance type of nobody": {offering(nodeOf("on-prem", "cellar"), "nvidia.com/gpu", 8), gpus(1), unpriced},
		"no node":                    {nil, gpus(1), unpriced},
		"nothing":                    {nodeOf("p5.48xlarge", "us-east-1"), nil, unpriced},
		"none":                       {nodeOf("p5.48xlarge", "us-east-1"), gpus(0), unpriced},
		"fewer than none":            {nodeOf("p5.48xlarge", "us-east-1"), gpus(-1), unpriced},
		"beyond 64 bits":             {nodeOf("p5.48xlarge", "us-east-1"), gpus(1 << 62), unpriced},
		"beyond 64 bits together":    {nodeOf("p5.48xlarge", "us-east-1"), append(gpus(1<<40), gpus(1<<40)...), unpriced},
		"DRA":                        {nodeOf("p5.48xlarge", "us-east-1"), []accelerator.Demand{want(accelerator.ClassName("gpu.nvidia.com"), 2)}, priced{"13.76", BasisDRA, ConfidencePinned}},
		"DRA, MIG as it was given":   {p4d(), []accelerator.Demand{{Class: accelerator.ClassName("mig.nvidia.com"), Kind: accelerator.KindDRA, Profile: "1g.5gb", Count: 1}}, priced{"0.392101", BasisDRA, ConfidencePinned}},
		"DRA, MIG of any profile":    {p4d(), []accelerator.Demand{want(accelerator.ClassName("mig.nvidia.com"), 1)}, unpriced},
		"several classes":            {p4d(), append(gpus(1), mig("1g.5gb", 1)...), priced{"3.136806", BasisMixed, ConfidencePinned}}, // 2.74470525 x 8/7
		"several, of which one":      {p4d(), append(gpus(1), mig("1g.20gb", 1)...), unpriced},
		"not an accelerator":         {p4d(), []accelerator.Demand{{Class: "cpu", Count: 1}}, unpriced},
		"a Neuron device":            {nodeOf("trn1.32xlarge", "us-east-1"), []accelerator.Demand{want("aws.amazon.com/neuron", 1)}, priced{"1.34375", BasisWhole, ConfidencePinned}},
		"a Neuron device, old name":  {nodeOf("inf2.24xlarge", "us-east-1"), []accelerator.Demand{want("aws.amazon.com/neurondevice", 6)}, priced{"6.49063", BasisWhole, ConfidencePinned}},
		"a Neuron core by family":    {nodeOf("trn1.32xlarge", "us-east-1"), []accelerator.Demand{want("aws.amazon.com/neuroncore", 1)}, priced{"0.671875", BasisWhole, ConfidencePinned}},
		"a Neuron core of inf1":      {nodeOf("inf1.6xlarge", "us-east-1"), []accelerator.Demand{want("aws.amazon.com/neuroncore", 16)}, priced{"1.18", BasisWhole, ConfidencePinned}},
		"a Neuron core by capacity":  {offering(offering(nodeOf("inf2.xlarge", "us-east-1"), "aws.amazon.com/neuron", 1), "aws.amazon.com/neuroncore", 4), []accelerator.Demand{want("aws.amazon.com/neuroncore", 1)}, priced{"0.18955", BasisWhole, ConfidencePinned}},
		"cores that cannot be":       {offering(offering(nodeOf("inf2.24xlarge", "us-east-1"), "aws.amazon.com/neuron", 6), "aws.amazon.com/neuroncore", 11), []accelerator.Demand{want("aws.amazon.com/neuroncore", 12)}, priced{"6.49063", BasisWhole, ConfidencePinned}},
		"cores of a family unknown":  {nodeOf("trn2.48xlarge", "us-east-1"), []accelerator.Demand{want("aws.amazon.com/neuroncore", 1)}, unpriced},
		"something of Neuron's":      {nodeOf("trn1.32xlarge", "us-east-1"), []accelerator.Demand{want("aws.amazon.com/neuronhugepages", 1)}, unpriced},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, pricedOf(Default().Hourly(Option{test.node, test.wants}, noon))); diff != "" {
				t.Errorf("price (-want +got):\n%s", diff)
			}
		})
	}
}

const rules = `
rules:
- {product: NVIDIA-L40S, perDeviceHour: 1.10, source: internal}
- {instanceType: metal, perInstanceHour: 80}
- {nodeSelector: {pool: gold, site: a}, perInstanceHour: 32, devices: 8}
- {nodeSelector: {pool: gold}, perDeviceHour: 5}
- {instanceType: p5.48xlarge, region: us-east-1, perInstanceHour: 40, effectiveFrom: 2026-06-01, effectiveTo: 2026-11-30, source: contract 7}
- {instanceType: p5.48xlarge, region: eu-west-1, perInstanceHour: 60}
- {instanceType: trn2.48xlarge, perInstanceHour: 32}
- {instanceType: g6f.large, perInstanceHour: 0.1}
`

func TestDeviceByRules(t *testing.T) {
	book := parsed(t, rules)
	ignoring := parsed(t, "builtIn: Ignore\n")
	metal := func() *corev1.Node { return nodeOf("metal", "") }
	rule := func(micros, devices int64, name string) Rate {
		return Rate{Known: true, Micros: micros, Devices: devices, Rule: name, Confidence: ConfidencePinned}
	}
	contract := rule(40_000_000, 8, "prices.yaml rules[4]")
	contract.Source, contract.SourceDate = "contract 7", "2026-06-01"
	internal := rule(1_100_000, 1, "prices.yaml rules[0]")
	internal.Source = "internal"
	listed := Rate{
		Known: true, Micros: 55_040_000, Devices: 8, Rule: "built-in list: aws p5.48xlarge us-east-1", Confidence: ConfidencePinned,
		Source:     "github.com/aws/karpenter-provider-aws pkg/providers/pricing/zz_generated.pricing_aws.go @1d92708",
		SourceDate: "2026-07-20",
	}
	tests := map[string]struct {
		book *Book
		node *corev1.Node
		now  time.Time
		want Rate
	}{
		"a selector of two labels":      {book, with(with(metal(), "pool", "gold"), "site", "a"), noon, rule(32_000_000, 8, "prices.yaml rules[2]")},
		"a selector of one":             {book, with(metal(), "pool", "gold"), noon, rule(5_000_000, 1, "prices.yaml rules[3]")},
		"a selector before its type":    {book, with(nodeOf("p5.48xlarge", "us-east-1"), "pool", "gold"), noon, rule(5_000_000, 1, "prices.yaml rules[3]")},
		"a type before its product":     {book, offering(with(metal(), "nvidia.com/gpu.product", "NVIDIA-L40S"), "nvidia.com/gpu", 4), noon, rule(80_000_000, 4, "prices.yaml rules[1]")},
		"a product before the list":     {book, with(nodeOf("g6e.xlarge", "us-east-1"), "nvidia.com/gpu.product", "NVIDIA-L40S-SHARED"), noon, internal},
		"in force":                      {book, nodeOf("p5.48xlarge", "us-east-1"), noon, contract},
		"to the end of the day":         {book, nodeOf("p5.48xlarge", "us-east-1"), time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC), contract},
		"not after it":                  {book, nodeOf("p5.48xlarge", "us-east-1"), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), listed},
		"from the start of the day":     {book, nodeOf("p5.48xlarge", "us-east-1"), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), contract},
		"not before it":                 {book, nodeOf("p5.48xlarge", "us-east-1"), time.Date(2026, 5, 31, 23, 59, 59, 0, time.UTC), listed},
		"another region":                {book, nodeOf("p5.48xlarge", "eu-west-1"), noon, rule(60_000_000, 8, "prices.yaml rules[5]")},
		"what has no published price":   {book, nodeOf("trn2.48xlarge", "us-east-1"), noon, rule(32_000_000, 16, "prices.yaml rules[6]")},
		"a part of a device is one":     {book, nodeOf("g6f.large", "us-east-1"), noon, rule(100_000, 1, "prices.yaml rules[7]")},
		"devices by label":              {book, with(metal(), "nvidia.com/gpu.count", "4"), noon, rule(80_000_000, 4, "prices.yaml rules[1]")},
		"the greater count":             {book, offering(with(metal(), "nvidia.com/gpu.count", "8"), "nvidia.com/gpu", 7), noon, rule(80_000_000, 8, "prices.yaml rules[1]")},
		"replicas are not devices":      {book, offering(with(with(metal(), "nvidia.com/gpu.product", "NVIDIA-L4-SHARED"), "nvidia.com/gpu.replicas", "4"), "nvidia.com/gpu", 32), noon, rule(80_000_000, 8, "prices.yaml rules[1]")},
		"renamed replicas neither":      {book, offering(with(metal(), "nvidia.com/gpu.replicas", "4"), "nvidia.com/gpu.shared", 32), noon, rule(80_000_000, 8, "prices.yaml rules[1]")},
		"Neuron devices":                {book, offering(metal(), "aws.amazon.com/neuron", 16), noon, rule(80_000_000, 16, "prices.yaml rules[1]")},
		"no devices known":              {book, metal(), noon, Rate{Rule: "prices.yaml rules[1]", Confidence: ConfidenceNone}},
		"split devices are not counted": {book, offering(offering(metal(), "nvidia.com/gpu", 1), "nvidia.com/mig-1g.5gb", 49), noon, Rate{Rule: "prices.yaml rules[1]", Confidence: ConfidenceNone}},
		"instances are not devices":     {book, offering(with(with(metal(), "nvidia.com/gpu.product", "NVIDIA-A30-MIG-1g.6gb"), "nvidia.com/gpu.count", "8"), "nvidia.com/gpu", 8), noon, Rate{Rule: "prices.yaml rules[1]", Confidence: ConfidenceNone}},
		"the list is ignored":           {ignoring, nodeOf("p5.48xlarge", "us-east-1"), noon, Rate{Confidence: ConfidenceNone}},
		"no rule and not in the list":   {book, nodeOf("other", ""), noon, Rate{Confidence: ConfidenceNone}},
		"no labels at all":              {book, &corev1.Node{}, noon, Rate{Confidence: ConfidenceNone}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.book.Device(test.node, test.now)); diff != "" {
				t.Errorf("rate (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSelectorsAreTriedInOrder: whatever the names of their labels.
func TestSelectorsAreTriedInOrder(t *testing.T) {
	const a, z = "- {nodeSelector: {a: x}, perDeviceHour: 1}\n", "- {nodeSelector: {z: x}, perDeviceHour: 1}\n"
	node := with(with(nodeOf("", ""), "a", "x"), "z", "x")
	for _, text := range []string{"rules:\n" + a + z, "rules:\n" + z + a} {
		if got := parsed(t, text).Device(node, noon).Rule; got != "prices.yaml rules[0]" {
			t.Errorf("%sgive %s, want the first", text, got)
		}
	}
}

func TestAnnotationsOfPrice(t *testing.T) {
	book := Default()
	tests := map[string]struct {
		node *corev1.Node
		want map[string]string
	}{
		"known": {nodeOf("p5.48xlarge", "us-east-1"), map[string]string{
			"cost.wastenot.dev/bound-hourly": "13.76", "cost.wastenot.dev/currency": "USD", "cost.wastenot.dev/basis": "whole",
			"cost.wastenot.dev/price-book": book.Hash(), "cost.wastenot.dev/confidence": "pinned",
		}},
		"unknown": {nodeOf("on-prem", ""), map[string]string{
			"cost.wastenot.dev/bound-hourly": "unknown", "cost.wastenot.dev/currency": "USD", "cost.wastenot.dev/basis": "unknown",
			"cost.wastenot.dev/price-book": book.Hash(), "cost.wastenot.dev/confidence": "none",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, book.Hourly(Option{test.node, gpus(2)}, noon).Annotations(book)); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}
