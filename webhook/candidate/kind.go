package candidate

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"wastenot.dev/internal/accelerator"
)

// kindLabels are the labels by which prices tell nodes apart, beside those of NVIDIA
// and those of the price book's own selectors.
var kindLabels = []string{corev1.LabelInstanceTypeStable, corev1.LabelInstanceType, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion}

const (
	nvidiaPrefix = "nvidia.com/"
	// timestampLabel says when NVIDIA's labels were written and differs on every node.
	timestampLabel = "nvidia.com/gfd.timestamp"
)

// kindOf names the node's kind: nodes of one kind have the same options at the same
// price.
func (l *look) kindOf(node *corev1.Node) string {
	var kind strings.Builder
	for _, labels := range [][]string{kindLabels, l.labels, nvidiaLabels(node)} {
		for _, label := range labels {
			kind.WriteString(label)
			kind.WriteByte('=')
			kind.WriteString(node.Labels[label])
			kind.WriteByte('\n')
		}
	}
	counts := map[string]int{}
	for name, quantity := range node.Status.Capacity {
		if accelerator.KindOf(name) != accelerator.KindNone {
			counts[string(name)] = int(quantity.Value())
		}
	}
	kind.WriteString(countsText(counts))
	if l.readsDevices() {
		kind.WriteByte('\n')
		kind.WriteString(l.mentioned.summary(l.pools.devices(node)))
	}
	return kind.String()
}

// readsDevices tells whether the devices of DRA drivers matter.
func (l *look) readsDevices() bool {
	return slices.ContainsFunc(l.needs, func(n need) bool { return len(n.choices) > 0 })
}

func nvidiaLabels(node *corev1.Node) []string {
	var labels []string
	for label := range node.Labels {
		if strings.HasPrefix(label, nvidiaPrefix) && label != timestampLabel {
			labels = append(labels, label)
		}
	}
	slices.Sort(labels)
	return labels
}

func countsText(counts map[string]int) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, key+":"+strconv.Itoa(counts[key]))
	}
	return strings.Join(parts, ",")
}

// mentioned are the attributes and capacities, without domains, that selectors read:
// devices that have the same of them are the same to the selectors. Most drivers give
// every device an identity, by which no two nodes would be of one kind.
type mentioned struct {
	names map[string]bool
	// all tells that a selector may read any.
	all bool
}

var (
	// access is how selectors read one attribute or capacity. A call is none: macros
	// such as exists read all attributes of a domain.
	access = regexp.MustCompile(`\bdevice\.(?:attributes|capacity)\[(?:"[^"\\]*"|'[^'\\]*')\](?:\.\??([A-Za-z_][A-Za-z0-9_]*)\b(\s*\()?|\[\??(?:"([^"\\]*)"|'([^'\\]*)')\])`)
	// plain is what else of a device is told apart in any case.
	plain = regexp.MustCompile(`\bdevice\.(?:driver|allowMultipleAllocations)\b`)
	bare  = regexp.MustCompile(`\bdevice\b`)
)

// mentionedIn reads the selectors of all needs. One that reads a device in any other way
// than attribute by attribute is taken to read all of it.
func mentionedIn(needs []need) mentioned {
	m := mentioned{names: map[string]bool{}}
	for i := range needs {
		for _, c := range needs[i].choices {
			for _, selector := range c.selectors {
				m.add(selector)
			}
		}
	}
	return m
}

func (m *mentioned) add(selector string) {
	for _, match := range access.FindAllStringSubmatch(selector, -1) {
		m.all = m.all || match[2] != ""
		m.names[match[1]+match[3]+match[4]] = true
	}
	rest := plain.ReplaceAllString(access.ReplaceAllString(selector, ""), "")
	m.all = m.all || bare.MatchString(rest)
}

func (m *mentioned) reads(name resourceapi.QualifiedName) bool {
	return m.all || m.names[string(name[strings.LastIndexByte(string(name), '/')+1:])]
}

// summary tells nodes apart by whose devices selectors and prices can tell them apart.
func (m *mentioned) summary(devices []device) string {
	counts := map[string]int{}
	for _, d := range devices {
		counts[m.look(d)]++
	}
	return countsText(counts)
}

// look is all of a device that matters.
func (m *mentioned) look(d device) string {
	parts := []string{d.driver, accelerator.ProfileOfDevice(d.Device), strconv.FormatBool(ptr.Deref(d.AllowMultipleAllocations, false))}
	sorted := func(add []string) { slices.Sort(add); parts = append(parts, add...) }
	var attributes, capacities []string
	for name, value := range d.Attributes {
		if m.reads(name) {
			attributes = append(attributes, string(name)+"="+attributeText(value))
		}
	}
	for name, value := range d.Capacity {
		if m.reads(name) {
			amount := value.Value // String writes into what it is called on.
			capacities = append(capacities, string(name)+"="+amount.String())
		}
	}
	sorted(attributes)
	sorted(capacities)
	return strings.Join(parts, "|")
}

func attributeText(value resourceapi.DeviceAttribute) string {
	if value.StringValue != nil {
		return strconv.Quote(*value.StringValue)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error() // Numbers and strings can be encoded.
	}
	return string(text)
}
