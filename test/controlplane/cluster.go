package controlplane

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options of a control plane. The zero value is a throw-away one at the native version.
type Options struct {
	// EmulatedVersion is a minor version such as "1.34" whose APIs and feature
	// defaults the control plane shows; empty means its own. kubectl and discovery
	// still see the native version as gitVersion.
	EmulatedVersion string
	// FeatureGates apply to kube-apiserver and kube-controller-manager alike.
	FeatureGates map[string]bool
	// RuntimeConfig switches API versions, such as "resource.k8s.io/v1alpha3": "true".
	RuntimeConfig map[string]string
	// APIServerArgs and ControllerManagerArgs are further flags, such as "--v=4".
	APIServerArgs, ControllerManagerArgs []string
	// Fsync lets etcd wait for the disk, as production does. Benchmarks of commit
	// latency want it; everything else is faster without.
	Fsync bool
	// Dir keeps keys and data, so that the next Start on the same Dir finds the same
	// cluster. Its path must be short (a unix socket lies in it). Empty means a
	// temporary directory that goes with the cluster.
	Dir string
	// Port of the API server on loopback; 0 takes a free one.
	Port int
	// Progress hears what takes long: one line now and then while the helper compiles. Nil is silent.
	Progress io.Writer
	// Log takes the log of the control plane. Nil keeps it in Dir as control-plane.log.
	Log io.Writer
}

// Cluster is a running control plane. Its methods may be called concurrently.
type Cluster struct {
	process    *process
	dir        string
	temporary  bool // dir goes with the cluster
	kubeconfig string
	version    string
	config     *rest.Config
	client     *kubernetes.Clientset
	files      atomic.Int64 // numbers the credential files, which must not overwrite each other
}

// Start compiles the helper if this machine has not done so yet (minutes, once),
// starts it and returns when API server and controllers are usable (seconds).
// The cluster ends when ctx does.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	binary, err := helperBinary(ctx, opts.Progress)
	if err != nil {
		return nil, err
	}
	dir := opts.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "wastenot-cp-"); err != nil {
			return nil, fmt.Errorf("making the control plane's directory: %w", err)
		}
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the control plane's directory: %w", err)
	}
	proc, announced, err := startProcess(ctx, binary, dir, opts)
	if err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	cluster := &Cluster{
		process: proc, dir: dir, temporary: opts.Dir == "",
		kubeconfig: announced.Kubeconfig, version: announced.Version,
	}
	if cluster.config, err = clientcmd.BuildConfigFromFlags("", announced.Kubeconfig); err != nil {
		cluster.Stop()
		return nil, fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	unthrottled(cluster.config)
	if cluster.client, err = kubernetes.NewForConfig(cluster.config); err != nil {
		cluster.Stop()
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return cluster, nil
}

// Stop ends the control plane and waits until it is gone. It may be called more than once.
func (c *Cluster) Stop() {
	c.process.stop()
	if c.temporary {
		// The helper does this itself, unless it had to be killed.
		_ = os.RemoveAll(c.dir)
	}
}

// Done is closed when the control plane has ended, for whatever reason.
func (c *Cluster) Done() <-chan struct{} { return c.process.done }

// Config returns a new client configuration of a member of system:masters, with
// no client-side rate limit. The caller may change it, for instance to
// impersonate a user.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Client returns a client with the rights of Config.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// Kubeconfig is the path of a file with the rights of Config.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// Dir is where the control plane keeps its files. Below "pki" lie ca.crt and
// ca.key, with which a test can mint a client certificate.
func (c *Cluster) Dir() string { return c.dir }

// Version is the native version, such as "v1.37.2", whatever is emulated.
func (c *Cluster) Version() string { return c.version }

// file returns a fresh path in the cluster's directory.
func (c *Cluster) file(name string) string {
	return filepath.Join(c.dir, strconv.FormatInt(c.files.Add(1), 10)+"-"+name)
}

// unthrottled lifts client-go's limit of 5 requests a second, which would be
// what a test measures. The API server has its own fairness.
func unthrottled(config *rest.Config) {
	config.QPS, config.Burst = -1, 0
}
