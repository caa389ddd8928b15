package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"
)

// oldestServer is the oldest minor of Kubernetes 1 that is supported.
const oldestServer = 34

const emulatedVersionFlag = "emulated-version"

// emulateServer makes the scheduler behave like the API server's minor version. A
// newer scheduler lists APIs that an older server does not serve, waits for them, and
// schedules nothing. An explicit --emulated-version wins.
func emulateServer(command *cobra.Command) {
	setGates := command.PersistentPreRunE
	command.PersistentPreRunE = func(command *cobra.Command, args []string) error {
		if flag := command.Flags().Lookup(emulatedVersionFlag); flag != nil && !flag.Changed {
			if err := setEmulatedVersion(command); err != nil {
				return err
			}
		}
		return setGates(command, args)
	}
}

func setEmulatedVersion(command *cobra.Command) error {
	config, err := restConfig(command)
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("building a discovery client: %w", err)
	}
	server, err := client.ServerVersion()
	if err != nil {
		return fmt.Errorf("asking the API server for its version: %w", err)
	}
	minor, err := strconv.Atoi(strings.TrimRight(server.Minor, "+"))
	if err != nil {
		return fmt.Errorf("reading the API server's version %s.%s: %w", server.Major, server.Minor, err)
	}
	if minor < oldestServer {
		return fmt.Errorf("the API server is version 1.%d; the oldest supported is 1.%d", minor, oldestServer)
	}
	own := compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent).BinaryVersion()
	if uint64(minor) >= uint64(own.Minor()) { //nolint:gosec // minor is at least oldestServer
		return nil
	}
	klog.InfoS("Emulating the API server's version", "server", server.GitVersion, "emulated", fmt.Sprintf("1.%d", minor))
	return command.Flags().Set(emulatedVersionFlag, fmt.Sprintf("kube=1.%d", minor))
}

// restConfig finds the API server as the scheduler itself will: by its configuration
// file, --kubeconfig, --master, or the pod's service account.
func restConfig(command *cobra.Command) (*rest.Config, error) {
	flags := command.Flags()
	kubeconfig, master := flags.Lookup("kubeconfig").Value.String(), flags.Lookup("master").Value.String()
	if file := flags.Lookup("config").Value.String(); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var in struct {
			ClientConnection struct {
				Kubeconfig string `json:"kubeconfig"`
			} `json:"clientConnection"`
		}
		if err := yaml.Unmarshal(text, &in); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		kubeconfig = in.ClientConnection.Kubeconfig
	}
	return clientcmd.BuildConfigFromFlags(master, kubeconfig)
}
