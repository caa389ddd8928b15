package dcgm

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// What dcgm-exporter's own manifests use.
const (
	metricsPortName = "metrics"
	metricsPort     = 9400
	metricsPath     = "/metrics"
)

// Target is one endpoint to read. It is comparable.
type Target struct {
	// URL is the whole address, such as "http://192.0.2.7:9400/metrics".
	URL string
	// Node is the Kubernetes node whose devices the endpoint reports, empty when
	// not known.
	Node string
	// Namespace and Pod name the exporter's pod, empty for a static target.
	Namespace, Pod string
}

// TargetsFromPods makes a target of each pod that runs an exporter. The caller
// chooses the pods by label; no annotation is needed. A pod counts when it is
// Running, not being deleted, and has an address. The port is that of the
// container port named "metrics", else 9400. Pods are only read.
func TargetsFromPods(pods []*corev1.Pod) []Target {
	var targets []Target
	for _, pod := range pods {
		if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" || pod.DeletionTimestamp != nil {
			continue
		}
		address := url.URL{
			Scheme: "http",
			Host:   net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port(pod))),
			Path:   metricsPath,
		}
		targets = append(targets, Target{
			URL:       address.String(),
			Node:      pod.Spec.NodeName,
			Namespace: pod.Namespace,
			Pod:       pod.Name,
		})
	}
	return targets
}

func port(pod *corev1.Pod) int {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == metricsPortName && (port.Protocol == corev1.ProtocolTCP || port.Protocol == "") {
				return int(port.ContainerPort)
			}
		}
	}
	return metricsPort
}

// ParseTargets reads a static list, each entry "URL" or "NODE=URL". It returns
// every fault at once, each named by its place in the list.
func ParseTargets(entries []string) ([]Target, error) {
	var targets []Target
	var faults []error
	for i, entry := range entries {
		target := Target{URL: entry}
		if node, address, found := strings.Cut(entry, "="); found && !strings.Contains(node, "://") {
			target = Target{Node: node, URL: address}
		}
		if err := target.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("targets[%d]: %w", i, err))
			continue
		}
		targets = append(targets, target)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return targets, nil
}

// Validate tells what is wrong with the target's address.
func (t Target) Validate() error {
	address, err := url.Parse(t.URL)
	switch {
	case err != nil:
		// The parser's error quotes the address, which may hold a password.
		return errors.New("url: cannot be parsed")
	case address.Scheme != "http" && address.Scheme != "https":
		return fmt.Errorf("url: scheme %q is neither http nor https", address.Scheme)
	case address.Hostname() == "":
		return errors.New("url: has no host")
	case address.User != nil:
		return errors.New("url: must not hold a user or password")
	default:
		return nil
	}
}
