package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestTransient(t *testing.T) {
	missing := apierrors.NewNotFound(corev1.Resource("resourceclaims"), "x")
	slow := apierrors.NewTimeoutError("slow", 1)
	refused := &url.Error{Op: "Get", URL: "https://10.0.0.1", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	cut := &url.Error{Op: "Get", URL: "https://10.0.0.1", Err: io.EOF}
	tests := map[string]struct {
		err  error
		want bool
	}{
		"none":                      {},
		"not found":                 {err: missing},
		"an amount":                 {err: errors.New("no node can have the amount")},
		"the API server says so":    {err: slow, want: true},
		"an unknown status":         {err: &apierrors.StatusError{}, want: true},
		"deadline":                  {err: context.DeadlineExceeded, want: true},
		"connection refused":        {err: fmt.Errorf("claim x: %w", refused), want: true},
		"connection cut":            {err: cut, want: true},
		"joined, all may go":        {err: errors.Join(fmt.Errorf("a: %w", slow), refused), want: true},
		"joined, the second stays":  {err: errors.Join(fmt.Errorf("a: %w", slow), fmt.Errorf("b: %w", missing))},
		"joined, the first stays":   {err: errors.Join(missing, slow)},
		"joined below another word": {err: fmt.Errorf("claim x: %w", errors.Join(slow, errors.Join(refused, missing)))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := transient(test.err); got != test.want {
				t.Errorf("transient(%v) is %v, want %v", test.err, got, test.want)
			}
		})
	}
}
