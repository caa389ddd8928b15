// Package telemetryv1alpha1 is the wire protocol between telemetry and those who
// watch the fleet. Everything but this file is generated from fleet.proto; the
// working form of the same facts is package internal/fleet.
package telemetryv1alpha1
