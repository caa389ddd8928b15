// Command demo plays a day of a shared GPU cluster on this machine: a real control
// plane, 24 simulated nodes with 192 GPUs, and our processes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"
)

func main() {
	once := flag.Bool("once", false, "play the day once, print the table, and fail if a line of it fails")
	helm := flag.Bool("helm", false, "install with manifests/chart and helm instead of manifests/base")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: unexpected argument %q; the flags are --once and --helm\n", flag.Arg(0))
		os.Exit(2)
	}
	// The clients of the story log to nowhere: what matters is told line by line.
	klog.SetLogger(klog.Logger{})
	klog.SetOutput(io.Discard)

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	passed, err := play(ctx, *once, *helm)
	switch {
	case ctx.Err() != nil && !*once:
		fmt.Println("stopped")
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	case !passed:
		os.Exit(1)
	}
}
