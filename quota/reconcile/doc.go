// Package reconcile keeps the ledgers true: their limits to the configuration, what they
// call committed to the pods that exist.
//
// It provides a Controller. Count may be called on any replica at any time; Run is for
// the leader, which counts on a timer, soon after reservations appear and when it is
// poked. It does not judge pods and refuses nothing.
//
// The webhook runs it. Invariants: a count reads the ledger from the API server, then
// lists the team's namespaces and their pods consistently (no resource version, no
// cache), then swaps; a conflict starts it over. A reservation expires by this process's
// own clock, longer after it first saw it than the API server lets a request live, and
// as of a moment before the pods were listed. So any number of controllers may run at
// once; leadership only saves work. A configuration that could not be read is no reason
// to delete a ledger, and a ledger with reservations is not deleted at all.
//
// Start reading at Controller.Count, then Controller.Run.
package reconcile
