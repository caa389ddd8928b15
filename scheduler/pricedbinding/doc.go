// Package pricedbinding writes what an accelerator pod costs on the node that it is
// bound to, with the binding itself.
//
// It provides the plugin PricedBinding, which binds accelerator pods as the default
// binder does and adds annotations to the Binding; the API server merges them into the
// pod, so there is no further write. It binds no other pod.
//
// What is an accelerator it knows as the webhook does: from the quota configuration too,
// of which it watches the ConfigMap beside that of the price book.
//
// kube-scheduler calls it. Invariants: no price, however wrong the book, keeps a pod
// from being bound; a price that is not known is written as "unknown".
//
// Start reading at Plugin.
package pricedbinding
