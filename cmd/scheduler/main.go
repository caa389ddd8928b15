// Command wastenot-scheduler is kube-scheduler with our plugins. It can replace the
// default scheduler or run beside it as a second one.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // the json log format
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"wastenot.dev/scheduler"
	"wastenot.dev/scheduler/pricedbinding"
	"wastenot.dev/scheduler/teamquota"
)

func main() {
	command := app.NewSchedulerCommand(
		app.WithPlugin(scheduler.Name, (&scheduler.Factory{}).New),
		app.WithPlugin(teamquota.Name, (&teamquota.Factory{}).New),
		app.WithPlugin(pricedbinding.Name, (&pricedbinding.Factory{}).New),
	)
	command.Use = "wastenot-scheduler"
	emulateServer(command, askServer)
	os.Exit(cli.Run(command))
}
