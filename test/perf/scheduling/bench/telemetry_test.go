//go:build perf

package bench

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/test/perf/scheduling/workload"
)

// fleetOf are the nodes of the workload as telemetry has them: all devices healthy.
func fleetOf(w workload.Workload) []*fleet.Node {
	if w.Kind == workload.Plain {
		return nil
	}
	nodes := make([]*fleet.Node, w.Nodes)
	for i := range nodes {
		nodes[i] = &fleet.Node{Name: workload.NodeName(i)}
		for j := range workload.DevicesPerNode {
			nodes[i].Devices = append(nodes[i].Devices, device(w.Kind, i, j))
		}
	}
	return nodes
}

func device(kind workload.Kind, node, index int) fleet.Device {
	d := fleet.Device{
		UUID: fmt.Sprintf("GPU-%d-%d", node, index), Index: fmt.Sprint(index), Vendor: "nvidia", Model: "NVIDIA H100 80GB HBM3",
		Grade: v1alpha1.GradeHealthy, MIG: kind == workload.MIG,
	}
	for i := range 7 {
		if d.MIG {
			d.Partitions = append(d.Partitions, fleet.Partition{GI: fmt.Sprint(7 + i), CI: "0", UUID: fmt.Sprintf("MIG-%d-%d-%d", node, index, i), Profile: "1g.10gb"})
		}
	}
	return d
}

// telemetry sends one snapshot and then only that it is alive.
type telemetry struct {
	telemetryv1alpha1.UnimplementedFleetServer

	nodes []*fleet.Node
}

// Watch follows the caller until it leaves.
func (s *telemetry) Watch(_ *telemetryv1alpha1.WatchRequest, stream grpc.ServerStreamingServer[telemetryv1alpha1.WatchEvent]) error {
	snapshot := &telemetryv1alpha1.Snapshot{Generation: 1}
	for _, node := range s.nodes {
		snapshot.Nodes = append(snapshot.Nodes, fleet.ToWire(node))
	}
	event := &telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Snapshot{Snapshot: snapshot}}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for sequence := uint64(1); ; sequence++ {
		event.Epoch, event.Sequence = "life 1", sequence
		if err := stream.Send(event); err != nil {
			return err
		}
		event = &telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Heartbeat{Heartbeat: &telemetryv1alpha1.Heartbeat{Generation: 1}}}
		select {
		case <-ticker.C:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// serveTelemetry serves the nodes over TLS on loopback until the benchmark ends, and
// returns how to reach them.
func serveTelemetry(b *testing.B, nodes []*fleet.Node) v1alpha1.FleetClientArgs {
	b.Helper()
	cert, bundle := selfSigned(b)
	listener, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}})))
	telemetryv1alpha1.RegisterFleetServer(server, &telemetry{nodes: nodes})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	b.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			b.Error(err)
		}
	})
	return v1alpha1.FleetClientArgs{
		Address: listener.Addr().String(), ServerName: "telemetry.test",
		CAFile: writeFile(b, "ca.crt", bundle), TokenFile: writeFile(b, "token", []byte("token")),
	}
}

func selfSigned(b *testing.B) (tls.Certificate, []byte) {
	b.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"telemetry.test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		b.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func writeFile(b *testing.B, name string, content []byte) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}
