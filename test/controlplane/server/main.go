package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/grpclog"
	"k8s.io/client-go/rest"
)

// shutdownGrace is how long the components may take to stop before the process
// exits without them. The API server alone would wait a minute for open watches.
const shutdownGrace = 3 * time.Second

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "control plane:", err)
		os.Exit(1)
	}
}

// run serves until a signal, the end of lifeline or the failure of a component.
func run(args []string, lifeline io.Reader, out io.Writer) error {
	opts, err := parseOptions(args)
	if err != nil {
		return err
	}
	// When the parent dies, standard error breaks together with the lifeline; the
	// default would end this process at its next log line, before it tidies up.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		// Nothing is ever sent: the read returns when the parent is gone.
		_, _ = io.Copy(io.Discard, lifeline)
		cancel()
	}()

	// etcd logs every connection that is closed under it; only its errors matter here.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, os.Stderr))
	// The loopback clients of the API server would log warnings that it gave itself.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})

	err = serve(ctx, opts, out)
	if opts.ephemeral {
		err = errors.Join(err, os.RemoveAll(opts.dir))
	}
	return err
}

// serve starts the components in order of need and waits for the first to end.
func serve(ctx context.Context, opts options, out io.Writer) error {
	if err := os.MkdirAll(opts.dir, 0o700); err != nil {
		return fmt.Errorf("making the data directory: %w", err)
	}
	keys, err := ensurePKI(filepath.Join(opts.dir, "pki"))
	if err != nil {
		return err
	}
	store, err := startEtcd(ctx, opts)
	if err != nil {
		return err
	}

	group, running := errgroup.WithContext(ctx)
	err = startComponents(running, group, opts, keys, store.endpoint, out)
	if err == nil {
		<-running.Done()
	}
	if ctx.Err() == nil && running.Err() != nil {
		// A component ended unasked, which is also why waiting for another was cancelled.
		err = context.Cause(running)
	}
	if err != nil || opts.ephemeral {
		// Nobody needs an orderly end of what is removed next.
		store.abort()
		return err
	}
	shutdown(group, store)
	return nil
}

// shutdown waits for the components of group, whose context has ended, but not for long.
func shutdown(group *errgroup.Group, store *store) {
	stopped := make(chan struct{})
	go func() {
		_ = group.Wait() // complaints about being cancelled
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(shutdownGrace):
	}
	store.close()
}

// startComponents returns once the control plane is usable and announced.
func startComponents(ctx context.Context, group *errgroup.Group, opts options, keys pki, etcdEndpoint string, out io.Writer) error {
	listener, err := listenLoopback(ctx, opts.port)
	if err != nil {
		return err
	}
	url := "https://" + listener.Addr().String()
	kubeconfig, err := writeAdminKubeconfig(opts.dir, url, keys)
	if err != nil {
		return err
	}
	// Both components share one process-wide version and feature gate registry,
	// so all flags are parsed and the registry is set before either completes.
	apiServer, err := newAPIServer(ctx, opts, keys, etcdEndpoint, listener)
	if err != nil {
		return err
	}
	controllers, err := newControllerManager(opts, keys, kubeconfig)
	if err != nil {
		return err
	}

	serving := make(chan error, 1)
	group.Go(func() error {
		err := apiServer.run(ctx)
		serving <- err
		return ended(ctx, "kube-apiserver", err)
	})
	config, client, err := adminClient(kubeconfig)
	if err != nil {
		return err
	}
	if err := waitReady(ctx, client, serving); err != nil {
		return err
	}
	group.Go(func() error { return ended(ctx, "kube-controller-manager", controllers.run(ctx)) })
	if err := waitControllers(ctx, client); err != nil {
		return err
	}
	return announce(out, client, config, kubeconfig)
}

// ended says which component an error is from. No component ends by itself, so
// an end without an error is one too unless ctx asked for it.
func ended(ctx context.Context, component string, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("running %s: %w", component, err)
	case ctx.Err() == nil:
		return fmt.Errorf("running %s: it ended by itself", component)
	}
	return nil
}
