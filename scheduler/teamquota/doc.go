// Package teamquota is the scheduler's side of quota, and its authority: in namespaces
// of mode enforce no accelerator pod is bound beyond what its team may hold.
//
// It provides the plugin TeamQuota. PreEnqueue holds pods of a team that is full,
// where autoscalers do not see them, and lets through no more at once than fit; Reserve
// counts what is bound and what is being bound, under one lock, and turns away what does
// not fit. It neither writes ledgers nor refuses pods: that is admission's.
//
// kube-scheduler calls it; limits come from the QuotaLedgers. Invariants: all profiles
// of a process share one count; what is not known yet (the namespace, the pods that hold
// something, a ledger) lets no pod through where it may be enforced; a pod that is held
// is looked at again whenever its team may have room.
//
// Start reading at Plugin.
package teamquota
