// Package decide says what becomes of a pod at admission.
//
// It provides who owns a pod, what is stamped on it, whether it is admitted, and the
// sentences that people read. It does no I/O, knows no clock and changes no argument.
// It counts and prices nothing: quota verdicts and amounts are given to it.
//
// Package serve calls it. Invariants: the namespace says whose a pod is, never the pod;
// whoever is exempt is so by who they are, never by what the pod bears; every refusal
// and every warning has words; a pod that was stamped is not stamped again.
//
// Start reading at Create, the decision on a new pod, and Stamp, what it is given.
package decide
