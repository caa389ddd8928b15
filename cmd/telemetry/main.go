// Command wastenot-telemetry reads every accelerator's exporter, grades each device,
// keeps quarantines and serves the fleet to the scheduler and the webhook.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"wastenot.dev/internal/version"
	"wastenot.dev/telemetry/app"
)

func main() {
	options := app.NewOptions()
	command := &cobra.Command{
		Use: "wastenot-telemetry", Short: "Health and activity of every accelerator, served to the scheduler and the webhook",
		Version: version.String(), Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			ctrl.SetLogger(klog.Background())
			if err := options.Validate(); err != nil {
				return err
			}
			rest, err := config.GetConfig()
			if err != nil {
				return fmt.Errorf("finding the API server: %w", err)
			}
			return app.Run(command.Context(), options, rest)
		},
	}
	options.AddFlags(command.Flags())
	klog.InitFlags(nil)
	command.Flags().AddGoFlagSet(flag.CommandLine)
	if err := command.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "wastenot-telemetry:", err)
		os.Exit(1)
	}
}
