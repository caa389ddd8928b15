package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// options is the parsed command line.
type options struct {
	dir             string // holds keys, kubeconfig and the etcd data
	ephemeral       bool   // dir is removed on exit and nothing is flushed into it
	fsync           bool
	port            int // of the API server; 0 picks a free one
	emulatedVersion string
	featureGates    string
	runtimeConfig   string
	apiServerArgs   listFlag
	controllerArgs  listFlag
	controllers     string
}

// listFlag collects the values of a flag that may be given several times.
type listFlag []string

func (l *listFlag) String() string { return strings.Join(*l, " ") }

// Set appends one value; it never fails.
func (l *listFlag) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func parseOptions(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("server", flag.ContinueOnError)
	fs.StringVar(&o.dir, "dir", "", "data directory; keep its path short, it holds a unix socket (default: a temporary one)")
	fs.BoolVar(&o.ephemeral, "ephemeral", false, "remove the data directory on exit")
	fs.BoolVar(&o.fsync, "fsync", false, "let etcd sync to disk, as a production cluster does")
	fs.IntVar(&o.port, "port", 0, "loopback port of the API server (0: any free one)")
	fs.StringVar(&o.emulatedVersion, "emulated-version", "", "minor version to emulate, such as 1.34")
	fs.StringVar(&o.featureGates, "feature-gates", "", "feature gates of both components, as A=true,B=false")
	fs.StringVar(&o.runtimeConfig, "runtime-config", "", "APIs to switch on or off, as group/version=true")
	fs.StringVar(&o.controllers, "controllers", strings.Join(defaultControllers, ","), "controllers to run")
	fs.Var(&o.apiServerArgs, "apiserver-arg", "further flag of kube-apiserver; may be repeated")
	fs.Var(&o.controllerArgs, "controller-arg", "further flag of kube-controller-manager; may be repeated")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected arguments %q", fs.Args())
	}
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "wastenot-cp-")
		if err != nil {
			return o, fmt.Errorf("making a data directory: %w", err)
		}
		o.dir, o.ephemeral = dir, true
	}
	return o, nil
}
