package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// pollInterval is short because every test suite waits for it at least twice.
const pollInterval = 25 * time.Millisecond

// ready is the line on standard output. Package controlplane reads it.
type ready struct {
	Kubeconfig string `json:"kubeconfig"` // of a member of system:masters
	Server     string `json:"server"`     // https URL on loopback
	Version    string `json:"version"`    // gitVersion that the API server reports
}

// writeAdminKubeconfig embeds the certificates, so that the file can be copied.
func writeAdminKubeconfig(dir, server string, keys pki) (string, error) {
	cluster, user := clientcmdapi.NewCluster(), clientcmdapi.NewAuthInfo()
	cluster.Server = server
	for path, into := range map[string]*[]byte{
		keys.ca.certFile:    &cluster.CertificateAuthorityData,
		keys.admin.certFile: &user.ClientCertificateData,
		keys.admin.keyFile:  &user.ClientKeyData,
	} {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("reading keys: %w", err)
		}
		*into = data
	}
	const name = "wastenot-test"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = cluster
	config.AuthInfos[name] = user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	path := filepath.Join(dir, "admin.kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return path, nil
}

func adminClient(kubeconfig string) (*rest.Config, *kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1 // polling must not be throttled by our own client
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making a client: %w", err)
	}
	return config, client, nil
}

// waitReady polls /readyz, which includes the bootstrap of the RBAC roles. It
// gives up when the server ends, which serving tells.
func waitReady(ctx context.Context, client kubernetes.Interface, serving <-chan error) error {
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-serving:
			return false, fmt.Errorf("server ended: %w", err)
		default:
		}
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for kube-apiserver: %w", err)
	}
	return nil
}

// waitControllers waits for what every pod in namespace default needs: its
// service account and the CA bundle that is mounted beside its token. That both
// exist also proves that the controllers run.
func waitControllers(ctx context.Context, client kubernetes.Interface) error {
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			_, err = client.CoreV1().ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return false, err
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for kube-controller-manager: %w", err)
	}
	return nil
}

func announce(out io.Writer, client kubernetes.Interface, config *rest.Config, kubeconfig string) error {
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("reading the server version: %w", err)
	}
	line := ready{Kubeconfig: kubeconfig, Server: config.Host, Version: version.GitVersion}
	if err := json.NewEncoder(out).Encode(line); err != nil {
		return fmt.Errorf("announcing: %w", err)
	}
	return nil
}
