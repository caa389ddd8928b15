// Package accelerator knows which resources and device classes are accelerators, how
// many of each a pod asks for, and what share of a device one unit is.
//
// It provides names, the request and the demand of a pod, claims included, and the
// shares of MIG profiles. It does not know devices, prices or quota.
//
// The scheduler, the webhook, quota and pricing use it, so that all read a pod alike.
//
// Start reading at DemandOf; RequestOf is the part of it that device plugins serve.
package accelerator
