package accelerator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTransient(t *testing.T) {
	absent := apierrors.NewNotFound(schema.GroupResource{Resource: "resourceclaims"}, "c")
	busy := apierrors.NewTooManyRequests("slow down", 1)
	refused := &url.Error{Op: "Get", URL: "https://x", Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}
	tests := map[string]struct {
		err  error
		want bool
	}{
		"none":                          {},
		"not found":                     {err: absent},
		"not found, wrapped":            {err: fmt.Errorf("claim c: %w", absent)},
		"of our own":                    {err: errors.New("claim c names nothing")},
		"too many requests":             {err: busy, want: true},
		"too many requests, wrapped":    {err: fmt.Errorf("claim c: finding: %w", busy), want: true},
		"forbidden":                     {err: apierrors.NewForbidden(schema.GroupResource{}, "c", errors.New("no")), want: true},
		"deadline":                      {err: fmt.Errorf("x: %w", context.DeadlineExceeded), want: true},
		"the network":                   {err: fmt.Errorf("x: %w", refused), want: true},
		"the last of several":           {err: errors.Join(absent, fmt.Errorf("claim d: %w", busy)), want: true},
		"the first of several":          {err: errors.Join(busy, absent), want: true},
		"none of several":               {err: errors.Join(absent, absent)},
		"one of several, wrapped again": {err: fmt.Errorf("pod p: %w", errors.Join(absent, fmt.Errorf("claim c: %w", refused))), want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Transient(test.err); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}
