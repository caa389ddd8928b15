package main

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apiversion "k8s.io/apimachinery/pkg/version"
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

// emulateServer makes the scheduler behave like the API server's minor version, which
// ask tells. A newer scheduler lists APIs that an older server does not serve, waits
// for them, and schedules nothing. An explicit --emulated-version wins.
func emulateServer(command *cobra.Command, ask func(*cobra.Command) (*apiversion.Info, error)) {
	setGates := command.PersistentPreRunE
	command.PersistentPreRunE = func(command *cobra.Command, args []string) error {
		if !changed(command, emulatedVersionFlag) && !changed(command, "version") {
			if err := setEmulatedVersion(command, ask); err != nil {
				return err
			}
		}
		return setGates(command, args)
	}
}

func changed(command *cobra.Command, name string) bool {
	flag := command.Flags().Lookup(name)
	return flag != nil && flag.Changed
}

func setEmulatedVersion(command *cobra.Command, ask func(*cobra.Command) (*apiversion.Info, error)) error {
	server, err := ask(command)
	if err != nil {
		return err
	}
	own := compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent).BinaryVersion()
	emulate, err := versionToEmulate(server, int(own.Minor()))
	if err != nil || emulate == "" {
		return err
	}
	klog.FromContext(command.Context()).Info("Emulating the API server's version", "server", server.GitVersion, "emulated", emulate)
	return command.Flags().Set(emulatedVersionFlag, "kube="+emulate)
}

// versionToEmulate returns the version, such as 1.34, that a scheduler of the minor
// version own must emulate for the server; "" when it need not. A server that itself
// emulates an older version serves what that version served.
func versionToEmulate(server *apiversion.Info, own int) (string, error) {
	text := cmp.Or(server.EmulationMinor, server.Minor)
	// Some providers write "34+".
	minor, err := strconv.Atoi(strings.TrimRight(text, "+"))
	if err != nil {
		return "", fmt.Errorf("reading the API server's version %q: its minor is %q", server.GitVersion, text)
	}
	if minor < oldestServer {
		return "", fmt.Errorf("the API server's version is 1.%d; the oldest supported is 1.%d", minor, oldestServer)
	}
	if minor >= own {
		return "", nil
	}
	return fmt.Sprintf("1.%d", minor), nil
}

// askServer asks the API server that the scheduler itself will use.
func askServer(command *cobra.Command) (*apiversion.Info, error) {
	config, err := restConfig(command)
	if err != nil {
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	server, err := client.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking the API server for its version: %w", err)
	}
	return server, nil
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
		// The scheduler decodes the whole file, strictly, later.
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
