package scheduler

import (
	"fmt"
	"net"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/scheduler/pluginargs"
)

const defaultStaleAfter = 10 * time.Second

// decodeArgs reads the plugin's arguments strictly, sets defaults and validates.
// The framework's own decoder would pass a misspelled field in silence.
func decodeArgs(object runtime.Object) (v1alpha1.AcceleratorsArgs, error) {
	var args v1alpha1.AcceleratorsArgs
	if err := pluginargs.Decode(Name, object, &args); err != nil {
		return args, err
	}
	if args.Telemetry.StaleAfter == nil {
		args.Telemetry.StaleAfter = &metav1.Duration{Duration: defaultStaleAfter}
	}
	if errs := validateArgs(args); len(errs) > 0 {
		return args, fmt.Errorf("validating the args of plugin %s: %w", Name, errs.ToAggregate())
	}
	return args, nil
}

func validateArgs(args v1alpha1.AcceleratorsArgs) field.ErrorList {
	var errs field.ErrorList
	telemetry := field.NewPath("telemetry")
	if args.Telemetry.StaleAfter.Duration < time.Second {
		errs = append(errs, field.Invalid(telemetry.Child("staleAfter"), args.Telemetry.StaleAfter.Duration.String(), "must be at least 1s, the interval of heartbeats"))
	}
	if args.Telemetry.Address == "" {
		if args.Telemetry.CAFile != "" || args.Telemetry.TokenFile != "" {
			errs = append(errs, field.Required(telemetry.Child("address"), "caFile and tokenFile are of no use without it"))
		}
		return errs
	}
	if _, _, err := net.SplitHostPort(args.Telemetry.Address); err != nil {
		errs = append(errs, field.Invalid(telemetry.Child("address"), args.Telemetry.Address, "must be host:port"))
	}
	if args.Telemetry.CAFile == "" {
		errs = append(errs, field.Required(telemetry.Child("caFile"), "telemetry is spoken to over TLS only"))
	}
	if args.Telemetry.TokenFile == "" {
		errs = append(errs, field.Required(telemetry.Child("tokenFile"), "telemetry answers only callers that it knows"))
	}
	return errs
}
