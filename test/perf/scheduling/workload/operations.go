package workload

// The namespaces of the pods: createNamespaces appends a count to the prefix.
const (
	namespacePrefix = "bench"
	initNamespace   = namespacePrefix + "-0"
	// MeasuredNamespace has the pods that are measured.
	MeasuredNamespace = namespacePrefix + "-1"
)

// oneSignature is more pods than any workload has: scheduler_perf labels as many pods in
// a row alike. By default each pod has a label of its own, and none is batched.
const oneSignature = 100_000

// TestCase returns the workload as an entry of a configuration of scheduler_perf. Paths
// of templates are relative to dir, and configPath is where the scheduler's
// configuration lies.
func (w Workload) TestCase(dir, configPath string) map[string]any {
	testCase := map[string]any{
		"name":                w.Name(),
		"schedulerConfigPath": configPath,
		"workloadTemplate":    w.operations(dir),
		"workloads":           []any{map[string]any{"name": "run"}},
	}
	if w.Kind == DRA {
		// On by default; naming it also starts the controller that makes claims.
		testCase["featureGates"] = map[string]bool{"DynamicResourceAllocation": true}
	}
	return testCase
}

func (w Workload) operations(dir string) []any {
	resource, units := w.Kind.Resource()
	devices := DevicesPerNode
	if w.Kind == Plain {
		devices = 0
	}
	params := map[string]any{"resource": resource, "units": units, "devices": devices}
	pod := dir + "/pod.yaml"
	operations := []any{
		map[string]any{"opcode": "createNamespaces", "prefix": namespacePrefix, "count": 2, "namespaceTemplatePath": dir + "/namespace.yaml"},
		map[string]any{"opcode": "createNodes", "count": w.Nodes, "nodeTemplatePath": dir + "/node.yaml", "templateParams": params},
	}
	if w.Kind == DRA {
		pod = dir + "/pod-with-claim.yaml"
		operations = append(operations,
			map[string]any{"opcode": "createAny", "templatePath": dir + "/deviceclass.yaml"},
			map[string]any{"opcode": "createAny", "templatePath": dir + "/resourceslice.yaml", "count": w.Nodes, "templateParams": params},
			map[string]any{"opcode": "createAny", "templatePath": dir + "/resourceclaimtemplate.yaml", "namespace": initNamespace},
			map[string]any{"opcode": "createAny", "templatePath": dir + "/resourceclaimtemplate.yaml", "namespace": MeasuredNamespace})
	}
	pods := func(namespace string, count int, measured bool) map[string]any {
		return map[string]any{
			"opcode": "createPods", "namespace": namespace, "count": count, "podTemplatePath": pod, "templateParams": params,
			"signatureBatchSize": oneSignature, "collectMetrics": measured,
		}
	}
	return append(operations, pods(initNamespace, w.InitPods, false), pods(MeasuredNamespace, w.Pods, true))
}
