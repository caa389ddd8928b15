package main

import (
	"context"
	"fmt"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	controlleroptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// defaultControllers is what scheduling, quota and eviction tests can notice.
// Left out: volumes, certificates, autoscaling, node CIDRs and other subjects
// that only cost CPU here. A controller whose feature gate or API is off at the
// emulated version is skipped by kube-controller-manager itself.
var defaultControllers = []string{
	"clusterrole-aggregation-controller",
	"cronjob-controller",
	"daemonset-controller",
	"deployment-controller",
	"device-taint-eviction-controller",
	"disruption-controller",
	"endpoints-controller",
	"endpointslice-controller",
	"garbage-collector-controller",
	"job-controller",
	"namespace-controller",
	"node-lifecycle-controller",
	"pod-garbage-collector-controller",
	"podgroup-protection-controller",
	"replicaset-controller",
	"replicationcontroller-controller",
	"resourceclaim-controller",
	"resourcequota-controller",
	"root-ca-certificate-publisher-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
	"statefulset-controller",
	"taint-eviction-controller",
	"ttl-after-finished-controller",
	"validatingadmissionpolicy-status-controller",
}

// controllerManager is a kube-controller-manager that is configured but not running.
type controllerManager struct {
	options *controlleroptions.KubeControllerManagerOptions
}

func newControllerManager(opts options, keys pki, kubeconfig string) (*controllerManager, error) {
	o, err := controlleroptions.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("making the kube-controller-manager options: %w", err)
	}
	named := o.Flags(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	if err := parseFlags("kube-controller-manager", named, controllerFlags(opts, keys, kubeconfig)); err != nil {
		return nil, err
	}
	o.ParsedFlags = &named
	return &controllerManager{options: o}, nil
}

// run needs an API server that answers.
func (m *controllerManager) run(ctx context.Context) error {
	config, err := m.options.Config(ctx, app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	if err != nil {
		return fmt.Errorf("configuring: %w", err)
	}
	return app.Run(ctx, config.Complete())
}

func controllerFlags(opts options, keys pki, kubeconfig string) []string {
	flags := []string{
		"--kubeconfig=" + kubeconfig,
		"--controllers=" + opts.controllers,
		"--leader-elect=false",
		"--secure-port=0",
		// As kubeadm does: each controller is a service account of its own, and that
		// is the user that admission sees.
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + keys.serviceAccountKeyFile,
		"--root-ca-file=" + keys.ca.certFile,
		// The defaults (20 and 30) would make a test of some hundred pods wait for the
		// controllers instead of for the scheduler.
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--concurrent-replicaset-syncs=10",
		"--concurrent-gc-syncs=10",
	}
	return append(flags, opts.controllerArgs...)
}
