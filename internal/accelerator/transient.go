package accelerator

import (
	"context"
	"errors"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Transient tells whether an error of DemandOf, or any error joined in it, may go by
// itself: the API server was not reached, or could not answer. What it says does not exist
// somebody must make.
func Transient(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.As(err, &network) || answered(err)
}

// answered tells whether an answer of the API server in the tree of errors is other than
// that something does not exist.
func answered(err error) bool {
	switch wrapper := err.(type) { //nolint:errorlint // the tree is walked by hand, for errors.As finds only the first
	case apierrors.APIStatus:
		reason := wrapper.Status().Reason
		return reason != metav1.StatusReasonUnknown && reason != metav1.StatusReasonNotFound
	case interface{ Unwrap() []error }:
		for _, one := range wrapper.Unwrap() {
			if answered(one) {
				return true
			}
		}
		return false
	case interface{ Unwrap() error }:
		return answered(wrapper.Unwrap())
	default:
		return false
	}
}
