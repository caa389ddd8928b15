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
)

func main() {
	factory := &scheduler.Factory{}
	command := app.NewSchedulerCommand(app.WithPlugin(scheduler.Name, factory.New))
	command.Use = "wastenot-scheduler"
	emulateServer(command, askServer)
	os.Exit(cli.Run(command))
}
