// Command wastenot-webhook says at admission whose an accelerator pod is, what it costs
// and whether it fits its team's quota, and keeps the quota ledgers.
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
	"wastenot.dev/webhook/app"
)

func main() {
	options := app.NewOptions()
	command := &cobra.Command{
		Use: "wastenot-webhook", Short: "Ownership, price and quota of accelerator pods at admission",
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
		fmt.Fprintln(os.Stderr, "wastenot-webhook:", err)
		os.Exit(1)
	}
}
