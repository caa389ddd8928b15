package main

import (
	"context"
	"strings"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/test/fixture/rig"
)

// quotas are the teams of the day.
const quotas = `
teams:
  - name: vision
    owner: vision-oncall
    costCenter: cc-4711
    limits: {classes: {nvidia.com/gpu: 4}}
  - name: research
    owner: research-lead
    costCenter: cc-0815
    limits: {devices: 1}
  - name: nightly
    owner: nightly-oncall
    costCenter: cc-4711
    policy: Queue
    limits: {devices: 1}
`

// answers are what people were told who asked for too much.
type answers struct {
	over, borrowed, orphan error
	warning                string
}

// help tells whether each says what is wrong and what to do.
func (a answers) help() bool {
	return says(a.over, "team vision is over quota", "wants 1 nvidia.com/gpu", "4 of 4", "USD/h", "vision-oncall", v1alpha1.QuotaConfigMap) &&
		says(a.borrowed, "team research is over quota", "1 of 1") &&
		says(a.orphan, "namespace orphan has no team", v1alpha1.LabelTeam) &&
		strings.Contains(a.warning, "team vision is over quota")
}

// teams lets people of three teams ask for GPUs.
func (d *day) teams(ctx context.Context) error {
	if err := d.introduceTeams(ctx); err != nil {
		return err
	}
	told, err := d.askForTooMuch(ctx)
	if err != nil {
		return err
	}
	inTurn, err := d.queue(ctx, rig.Workload{Namespace: "nightly", Name: "batch", Resource: rig.ResourceGPU})
	if err != nil {
		return err
	}
	d.add("f", "a refusal says team, class, want, held, limit, price and what to do; so do a missing team, a borrower and a warning", told.help() && inTurn,
		"over quota:   %v\n         borrower:     %v\n         missing team: %v\n         warning:      %s", told.over, told.borrowed, told.orphan, told.warning)
	for _, namespace := range []string{"vision", "vision-dev", "research", "nightly"} {
		if err := d.rig.Delete(ctx, namespace); err != nil {
			return err
		}
	}
	return nil
}

// askForTooMuch fills two teams and then has one of each ask for more.
func (d *day) askForTooMuch(ctx context.Context) (told answers, err error) {
	gpu := func(namespace, name string) rig.Workload {
		return rig.Workload{Namespace: namespace, Name: name, Resource: rig.ResourceGPU}
	}
	if err := d.create(ctx, gpu("vision", "train"), 4); err != nil {
		return told, err
	}
	_, told.over = d.rig.Try(ctx, gpu("vision", "train").Pod("train-4"))
	d.say("team vision runs 4 GPU pods and asks for a fifth: %v", told.over)

	if err := d.create(ctx, gpu("research", "probe"), 1); err != nil {
		return told, err
	}
	borrower := gpu("research", "borrower").Pod("borrower-0")
	borrower.Labels[v1alpha1.LabelTeam] = "nightly"
	_, told.borrowed = d.rig.Try(ctx, borrower)
	d.say("a pod of team research says that it is nightly's, which has room: %v", told.borrowed)

	_, told.orphan = d.rig.Try(ctx, gpu("orphan", "job").Pod("job-0"))
	d.say("a namespace without a team: %v", told.orphan)

	warnings, err := d.rig.Try(ctx, gpu("vision-dev", "notebook").Pod("notebook-0"))
	told.warning = strings.Join(warnings, "; ")
	d.say("the same team in a namespace that only warns gets its pod, and reads: %s", told.warning)
	return told, err
}

// introduceTeams makes the teams and their namespaces, and waits for their ledgers.
func (d *day) introduceTeams(ctx context.Context) error {
	if err := d.rig.SetConfig(ctx, v1alpha1.QuotaConfigMap, v1alpha1.QuotaKey, quotas); err != nil {
		return err
	}
	for name, labels := range map[string]map[string]string{
		"vision":     {v1alpha1.LabelTeam: "vision", v1alpha1.LabelMode: string(v1alpha1.ModeEnforce)},
		"vision-dev": {v1alpha1.LabelTeam: "vision", v1alpha1.LabelMode: string(v1alpha1.ModeWarn)},
		"research":   {v1alpha1.LabelTeam: "research", v1alpha1.LabelMode: string(v1alpha1.ModeEnforce)},
		"nightly":    {v1alpha1.LabelTeam: "nightly", v1alpha1.LabelMode: string(v1alpha1.ModeEnforce)},
		"orphan":     {v1alpha1.LabelMode: string(v1alpha1.ModeEnforce)},
	} {
		if err := d.rig.Namespace(ctx, name, labels); err != nil {
			return err
		}
	}
	d.say("three teams get quota: vision 4 GPUs, research 1 device, nightly 1 device and a queue")
	return d.await(ctx, "every team has a counted ledger", func() bool {
		for _, team := range []string{"vision", "research", "nightly"} {
			if ledger, err := d.rig.Ledger(ctx, team); err != nil || ledger.Status.AsOf == nil {
				return false
			}
		}
		return true
	})
}

// queue sends three pods where one fits, and tells whether each runs in its turn.
func (d *day) queue(ctx context.Context, w rig.Workload) (inTurn bool, err error) {
	if err := d.rig.Create(ctx, w, 3); err != nil {
		return false, err
	}
	if err := d.await(ctx, "one pod of the queue runs", func() bool { return d.running(w.Namespace, w.Name) == 1 }); err != nil {
		return false, err
	}
	most := 0
	for range 2 {
		for _, p := range d.pods(w.Namespace, w.Name) {
			if p.Phase == "Running" {
				if err := d.rig.DeletePod(ctx, p.Namespace, p.Name); err != nil {
					return false, err
				}
			}
		}
		if err := d.await(ctx, "the next pod of the queue runs", func() bool {
			running := d.running(w.Namespace, w.Name)
			most = max(most, running)
			return running == 1
		}); err != nil {
			return false, err
		}
	}
	d.say("team nightly's 3 pods wait for their turn: at most %d ran at once", most)
	return most == 1, nil
}

// says tells whether the error has all the words.
func says(err error, words ...string) bool {
	if err == nil {
		return false
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			return false
		}
	}
	return true
}
