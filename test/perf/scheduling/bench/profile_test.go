//go:build perf

package bench

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/scheduler"
	"wastenot.dev/test/perf/scheduling/workload"
)

// profile is a side of the comparison.
type profile string

const (
	stock profile = "stock"
	ours  profile = "ours"
	// blind is ours without telemetry: every device scores as Unknown.
	blind profile = "blind"
)

// base is where the shipped manifests lie, seen from this package.
var base = filepath.Join("..", "..", "..", "..", "manifests", "base")

// config is a KubeSchedulerConfiguration, as far as this package changes one.
type config struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Profiles   []profileOfConfig `json:"profiles"`
}

type profileOfConfig struct {
	SchedulerName string         `json:"schedulerName"`
	Plugins       any            `json:"plugins,omitempty"`
	PluginConfig  []pluginConfig `json:"pluginConfig,omitempty"`
}

type pluginConfig struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

// shippedConfig is the configuration of our scheduler beside the cluster's own.
func shippedConfig(b *testing.B) *config {
	b.Helper()
	var shipped corev1.ConfigMap
	readYAML(b, filepath.Join(base, "scheduler", "config.yaml"), &shipped)
	var c config
	if err := yaml.Unmarshal([]byte(shipped.Data["secondary.yaml"]), &c); err != nil {
		b.Fatal(err)
	}
	if len(c.Profiles) != 1 {
		b.Fatalf("the shipped configuration has %d profiles, want one", len(c.Profiles))
	}
	return &c
}

// profile makes the configuration of one side of the workload from the shipped one.
func (c *config) profile(b *testing.B, p profile, w workload.Workload) *config {
	b.Helper()
	only := &c.Profiles[0]
	only.SchedulerName = corev1.DefaultSchedulerName // Which the measured pods name.
	constraints := c.plugin(b, "PodTopologySpread")
	if p == stock {
		only.Plugins, only.PluginConfig = nil, []pluginConfig{constraints}
	}
	if w.Constraints == workload.System || (p == stock && w.Constraints == workload.Shipped) {
		only.drop(constraints.Name)
	}
	if p == blind {
		only.drop(scheduler.Name)
	}
	return c
}

// watchFleet has our plugin watch the telemetry of args.
func (c *config) watchFleet(b *testing.B, args v1alpha1.FleetClientArgs) {
	b.Helper()
	c.plugin(b, scheduler.Name).Args["telemetry"] = args
}

func (c *config) plugin(b *testing.B, name string) pluginConfig {
	b.Helper()
	for _, plugin := range c.Profiles[0].PluginConfig {
		if plugin.Name == name {
			return plugin
		}
	}
	b.Fatalf("the shipped configuration has no pluginConfig for %s", name)
	return pluginConfig{}
}

func (p *profileOfConfig) drop(name string) {
	p.PluginConfig = slices.DeleteFunc(p.PluginConfig, func(c pluginConfig) bool { return c.Name == name })
}

func readYAML(b *testing.B, path string, into any) {
	b.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		b.Fatalf("%s: %v", path, err)
	}
}
