package manifests

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"wastenot.dev/api/v1alpha1"
)

// TestChartRefuses: what is misspelled or of the wrong type is an error that names it.
func TestChartRefuses(t *testing.T) {
	for set, want := range map[string]string{
		// Keys that are not there, at every depth and in every part.
		"webhok.enabled=false":                        "'webhok' not allowed",
		"image.tags=v1":                               "'tags' not allowed",
		"crds.retain=true":                            "'retain' not allowed",
		"criticalPodQuota.pod=9":                      "'pod' not allowed",
		"telemetry.replicas=2":                        "'replicas' not allowed",
		"telemetry.image.name=x":                      "'name' not allowed",
		"telemetry.exporterNamespace={a}":             "'exporterNamespace' not allowed",
		"telemetry.resources.limit.memory=1Gi":        "'limit' not allowed",
		"telemetry.tolerations[0].efect=NoExecute":    "'efect' not allowed",
		"scheduler.affinity.nodeAfinity.x=1":          "'nodeAfinity' not allowed",
		"scheduler.modus=secondary":                   "'modus' not allowed",
		"webhook.exemptUser={a}":                      "'exemptUser' not allowed",
		"imagePullSecrets[0].nam=x":                   "'nam' not allowed",
		"healthPolicy.throtle.suspectAfter=1m":        "'throtle' not allowed",
		"healthPolicy.xid.94.garde=Healthy":           "'garde' not allowed",
		"mixPolicy.halflife=9":                        "'halflife' not allowed",
		"mixPolicy.seed[0].product=a":                 "'product' not allowed",
		"quota.teams=x":                               "'teams' not allowed",
		"quota.config.teams[0].limit.devices=1":       "'limit' not allowed",
		"quota.config.teams[0].limits.device=1":       "'device' not allowed",
		"quota.config.classes.a.shares=1":             "'shares' not allowed",
		"prices.config.rules[0].perHour=1":            "'perHour' not allowed",
		"prices.config.curency=EUR":                   "'curency' not allowed",
		"quota.config.teams[0].limits.devices=1":      "missing property 'name'",
		"healthPolicy.xid.94.action=RestartApp":       "missing property 'grade'",
		"mixPolicy.seed[0].count=1":                   "missing property 'resource'",
		"mixPolicy.halfLife=0":                        "/mixPolicy/halfLife",
		"mixPolicy.halfLife=1000000":                  "/mixPolicy/halfLife",
		"mixPolicy.seed[0].weight=1000000":            "/mixPolicy/seed/0/weight",
		"scheduler.mode=":                             "/scheduler/mode",
		"scheduler.mode=primary":                      "/scheduler/mode",
		"scheduler.replicas=-1":                       "/scheduler/replicas",
		"webhook.replicas=0":                          "/webhook/replicas",
		"scheduler.replicas=two":                      "/scheduler/replicas",
		"webhook.enabled=maybe":                       "/webhook/enabled",
		"webhook.schedulerName=Wastenot":              "/webhook/schedulerName",
		"webhook.exemptUsers={system:*}":              "/webhook/exemptUsers/0",
		"webhook.exemptUsers=alice":                   "/webhook/exemptUsers",
		"webhook.logVerbosity=-1":                     "/webhook/logVerbosity",
		"telemetry.scrapeInterval=15":                 "/telemetry/scrapeInterval",
		"telemetry.targets={10.0.0.1:9400}":           "/telemetry/targets/0",
		"telemetry.nodeLabels={a b}":                  "/telemetry/nodeLabels/0",
		"telemetry.nodeSelector.a=1":                  "/telemetry/nodeSelector/a",
		"telemetry.resources.limits.memory=lots":      "/telemetry/resources/limits/memory",
		"telemetry.image.digest=sha256:123":           "/telemetry/image/digest",
		"image.registry=https://registry.example.com": "/image/registry",
		"image.pullPolicy=always":                     "/image/pullPolicy",
		"healthPolicy.probation=10":                   "/healthPolicy/probation",
		"healthPolicy.xid.94.grade=Fine":              "/healthPolicy/xid/94/grade",
		"quota.config.teams[0].policy=Deny":           "/quota/config/teams/0/policy",
		"prices.config.builtIn=Maybe":                 "/prices/config/builtIn",
		"prices.config.rules[0].perDeviceHour=2":      "/prices/config/rules/0/perDeviceHour",
		"prices.config.rules[0].product=H100":         "/prices/config/rules/0",
		"priorityClassName=null":                      "missing property 'priorityClassName'",
		"telemetry.image=null":                        "missing property 'image'",
		// What would install and then not work.
		"criticalPodQuota.pods=5": "these replicas and their rollouts need 8",
		"webhook.replicas=8":      "these replicas and their rollouts need 13",
	} {
		t.Run(set, func(t *testing.T) {
			_, err := helm(t, "template", "wastenot", chart, "--namespace", v1alpha1.SystemNamespace, "--set", set)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want an error that says %q", err, want)
			}
		})
	}
}

func TestChartRefusesForeignNamespaces(t *testing.T) {
	for _, namespace := range []string{"default", metav1.NamespaceSystem} {
		if _, err := helm(t, "template", "wastenot", chart, "--namespace", namespace); err == nil || !strings.Contains(err.Error(), "one of its own") {
			t.Errorf("namespace %s: got %v, want an error", namespace, err)
		}
	}
}

// shape is what this test reads of a JSON schema.
type shape struct {
	Ref         string            `json:"$ref"`
	Type        string            `json:"type"`
	Required    []string          `json:"required"`
	Items       *shape            `json:"items"`
	Properties  map[string]*shape `json:"properties"`
	Additional  json.RawMessage   `json:"additionalProperties"`
	Definitions map[string]*shape `json:"definitions"`
}

func readSchema(t *testing.T) *shape {
	t.Helper()
	text, err := os.ReadFile(chart + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	out := &shape{}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (s *shape) resolve(root *shape) *shape {
	if name, ok := strings.CutPrefix(s.Ref, "#/definitions/"); ok {
		return root.Definitions[name]
	}
	return s
}

// TestSchemaKnowsWhatTheProgramsRead: the parts of the values that become files of ours
// have exactly the fields of the types that read them.
func TestSchemaKnowsWhatTheProgramsRead(t *testing.T) {
	root := readSchema(t)
	for name, kind := range map[string]reflect.Type{
		"quotaConfig":  reflect.TypeFor[v1alpha1.QuotaConfig](),
		"priceBook":    reflect.TypeFor[v1alpha1.PriceBook](),
		"healthPolicy": reflect.TypeFor[v1alpha1.HealthPolicy](),
		"mixPolicy":    reflect.TypeFor[v1alpha1.MixPolicy](),
	} {
		t.Run(name, func(t *testing.T) { checkFields(t, root, root.Definitions[name], kind, name) })
	}
}

// scalars are the structs that people write as text or as a number.
var scalars = []reflect.Type{reflect.TypeFor[metav1.Duration](), reflect.TypeFor[resource.Quantity]()}

func checkFields(t *testing.T, root, s *shape, kind reflect.Type, path string) {
	t.Helper()
	if s = s.resolve(root); s == nil {
		t.Errorf("%s has no schema", path)
		return
	}
	switch {
	case kind.Kind() == reflect.Pointer:
		checkFields(t, root, s, kind.Elem(), path)
	case kind.Kind() == reflect.Slice:
		checkFields(t, root, s.Items, kind.Elem(), path+"[]")
	case kind.Kind() == reflect.Map:
		values := &shape{}
		if err := json.Unmarshal(s.Additional, values); err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		checkFields(t, root, values, kind.Elem(), path+"{}")
	case kind.Kind() == reflect.Struct && !slices.Contains(scalars, kind):
		if string(s.Additional) != "false" {
			t.Errorf("%s takes fields that it does not know", path)
		}
		fields := map[string]reflect.Type{}
		for field := range kind.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			fields[name] = field.Type
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(s.Properties))); diff != "" {
			t.Errorf("fields of %s and of its schema (-type +schema):\n%s", path, diff)
			return
		}
		for name, field := range fields {
			checkFields(t, root, s.Properties[name], field, path+"."+name)
		}
	}
}

// TestSchemaIsStrict: every map of the values either has fixed keys or says what its
// values are; only what Kubernetes itself judges is left open.
func TestSchemaIsStrict(t *testing.T) {
	open := []string{"#/definitions/affinity/nodeAffinity", "#/definitions/affinity/podAffinity", "#/definitions/affinity/podAntiAffinity", "#/global"}
	var found []string
	var walk func(s *shape, path string)
	walk = func(s *shape, path string) {
		if s == nil {
			return
		}
		if s.Type == "object" && len(s.Additional) == 0 {
			found = append(found, path)
		}
		walk(s.Items, path+"[]")
		for name, below := range s.Properties {
			walk(below, path+"/"+name)
		}
		for name, below := range s.Definitions {
			walk(below, path+"/definitions/"+name)
		}
	}
	walk(readSchema(t), "#")
	slices.Sort(found)
	if diff := cmp.Diff(open, found); diff != "" {
		t.Errorf("maps that take anything (-want +got):\n%s", diff)
	}
}
