// Package claims looks up what a pod's resource claims refer to in what the scheduler
// already watches.
//
// It provides an accelerator.Objects over the scheduler's own view of DRA. It watches
// nothing itself and knows no templates: when a pod may be scheduled, its claims exist.
//
// The plugins of this tree use it. Start reading at Of.
package claims
