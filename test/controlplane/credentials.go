package controlplane

import (
	"context"
	"fmt"
	"os"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

// tokenSeconds is longer than any suite runs, so that no client needs to renew.
const tokenSeconds = 24 * 60 * 60

// Token asks the API server for a token of a ServiceAccount, as a pod's
// projected volume does. The ServiceAccount must exist. An empty audience means
// the API server itself.
func (c *Cluster) Token(ctx context.Context, namespace, name, audience string) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To[int64](tokenSeconds),
	}}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	answer, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("requesting a token for %s/%s: %w", namespace, name, err)
	}
	return answer.Status.Token, nil
}

// TokenFile writes what Token returns into a new file and returns its path.
func (c *Cluster) TokenFile(ctx context.Context, namespace, name, audience string) (string, error) {
	token, err := c.Token(ctx, namespace, name, audience)
	if err != nil {
		return "", err
	}
	path := c.file(namespace + "-" + name + ".token")
	if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
		return "", fmt.Errorf("writing a token file: %w", err)
	}
	return path, nil
}

// ServiceAccountConfig returns a client configuration that has just the rights
// which RBAC gives to the ServiceAccount, with no client-side rate limit.
func (c *Cluster) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	token, err := c.Token(ctx, namespace, name, "")
	if err != nil {
		return nil, err
	}
	config := rest.AnonymousClientConfig(c.config)
	config.BearerToken = token
	unthrottled(config)
	return config, nil
}

// ServiceAccountKubeconfig writes a kubeconfig with the rights of
// ServiceAccountConfig into a new file and returns its path. It is what our
// binaries get under --kubeconfig, so that they run on their real RBAC rules.
func (c *Cluster) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	token, err := c.Token(ctx, namespace, name, "")
	if err != nil {
		return "", err
	}
	config, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		return "", fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	current := config.Contexts[config.CurrentContext]
	current.Namespace = namespace
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{current.AuthInfo: {Token: token}}
	path := c.file(namespace + "-" + name + ".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return path, nil
}
