package main

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// serviceIPRange is what Services get their addresses from. Nothing routes it.
const serviceIPRange = "10.96.0.0/16"

// apiServer is a kube-apiserver that is configured but not running.
type apiServer struct {
	completed apiserveroptions.CompletedOptions
}

// newAPIServer parses the flags and fixes the version that the whole process
// emulates. It must be called before anything else reads a feature gate.
func newAPIServer(ctx context.Context, opts options, keys pki, etcdEndpoint string, listener net.Listener) (*apiServer, error) {
	o := apiserveroptions.NewServerRunOptions()
	if err := parseFlags("kube-apiserver", o.Flags(), apiServerFlags(opts, keys, etcdEndpoint)); err != nil {
		return nil, err
	}
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("setting the emulated version: %w", err)
	}
	address := listener.Addr().(*net.TCPAddr)
	o.SecureServing.Listener = listener
	o.SecureServing.BindPort = address.Port
	o.SecureServing.ExternalAddress = address.IP
	// A loopback address may not stand in an EndpointSlice.
	o.EndpointReconcilerType = "none"

	completed, err := o.Complete(ctx)
	if err != nil {
		return nil, fmt.Errorf("completing the kube-apiserver options: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("validating the kube-apiserver options: %w", utilerrors.NewAggregate(errs))
	}
	return &apiServer{completed: completed}, nil
}

func (s *apiServer) run(ctx context.Context) error {
	return app.Run(ctx, s.completed)
}

func apiServerFlags(opts options, keys pki, etcdEndpoint string) []string {
	flags := []string{
		"--etcd-servers=" + etcdEndpoint,
		"--service-cluster-ip-range=" + serviceIPRange,
		"--allow-privileged=true",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--tls-cert-file=" + keys.serving.certFile,
		"--tls-private-key-file=" + keys.serving.keyFile,
		"--client-ca-file=" + keys.ca.certFile,
		"--requestheader-client-ca-file=" + keys.proxyCA.certFile,
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + keys.proxyClient.certFile,
		"--proxy-client-key-file=" + keys.proxyClient.keyFile,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-signing-key-file=" + keys.serviceAccountKeyFile,
		"--service-account-key-file=" + keys.serviceAccountKeyFile,
	}
	if opts.emulatedVersion != "" {
		flags = append(flags, "--emulated-version="+opts.emulatedVersion)
	}
	if opts.featureGates != "" {
		flags = append(flags, "--feature-gates="+opts.featureGates)
	}
	if opts.runtimeConfig != "" {
		flags = append(flags, "--runtime-config="+opts.runtimeConfig)
	}
	return append(flags, opts.apiServerArgs...)
}

// parseFlags parses args the way the cobra command of the component would. The
// commands themselves install signal handlers, which works once per process.
func parseFlags(component string, named cliflag.NamedFlagSets, args []string) error {
	fs := pflag.NewFlagSet(component, pflag.ContinueOnError)
	for _, part := range named.FlagSets {
		fs.AddFlagSet(part)
	}
	if err := fs.Parse(args); err != nil {
		return fmt.Errorf("parsing the flags of %s: %w", component, err)
	}
	return nil
}

// listenLoopback opens the API server's port before its flags are parsed, so
// that no other process can take the port in between.
func listenLoopback(ctx context.Context, port int) (net.Listener, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listening for the API server: %w", err)
	}
	return listener, nil
}
