package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/internal/namespaces"
)

// TestFitOnHosts: keras fit on two hosts, beyond the loopback interface, with a shared secret in a file, over a slow
// network. Without a secret, and with another one, it ends with an error.
func TestFitOnHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	if err := namespaces.Available(); err != nil {
		t.Skipf("workers on hosts of their own: %v", err)
	}
	network, err := namespaces.New(2, 3)
	require.NoError(t, err)
	t.Cleanup(network.Close)
	network.SetAll(namespaces.Link{Delay: 5 * time.Millisecond, Loss: 0.01})
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(path("secret"), []byte(collective.NewSecret()+"\n"), 0o600))
	require.NoError(t, os.WriteFile(path("short"), []byte("short\n"), 0o600))
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: {network.Address(0) + ":4000", network.Address(1) + ":4000"}})
	require.NoError(t, err)
	start := func(host int, more ...string) (*exec.Cmd, *strings.Builder) {
		config, err := cluster.FormatTFConfig(spec, cluster.Task{Type: cluster.Worker, Index: host})
		require.NoError(t, err)
		both := path("both.npz")
		c := exec.Command(os.Args[0], append([]string{"fit", path("model.keras"), "--x", both, "--y", both, "--batch-size", "3", "--epochs", "3", "--no-shuffle", "--verbose", "0",
			"--strategy", "multiworker", "--output", path("hosts.keras")}, more...)...)
		c.Env = append(os.Environ(), role+"=keras", cluster.TFConfigVariable+"="+config)
		var out strings.Builder
		c.Stderr = &out
		require.NoError(t, network.Start(host, c))
		t.Cleanup(func() { _ = c.Process.Kill() }) // it has ended
		return c, &out
	}
	first, text0 := start(0, "--secret-file", path("secret"))
	second, text1 := start(1, "--secret-file", path("secret"))
	require.NoError(t, first.Wait(), text0)
	require.NoError(t, second.Wait(), text1)
	status, _, stderr := execute(t, "fit", path("model.keras"), "--x", path("both.npz"), "--y", path("both.npz"), "--batch-size", "3", "--epochs", "3", "--no-shuffle", "--verbose", "0", "--output", path("one.keras"))
	require.Zero(t, status, stderr)
	want := storedArrays(t, path("one.keras"))
	for name, a := range storedArrays(t, path("hosts.keras")) {
		require.InDeltaSlice(t, want[name].values, a.values, 1e-5, name)
	}
	for words, flags := range map[string][]string{
		"workers of several machines need":  nil,
		"the secret has 5 bytes":            {"--secret-file", path("short")},
		"no such file":                      {"--secret-file", path("none")},
		"--tls-cert and --tls-key together": {"--tls-ca", path("secret")},
		"holds no certificate":              {"--tls-ca", path("secret"), "--tls-cert", path("secret"), "--tls-key", path("secret")},
	} {
		c, text := start(0, flags...)
		require.Error(t, c.Wait(), words)
		require.Contains(t, text.String(), words)
	}
	status, _, stderr = execute(t, "fit", path("model.keras"), "--x", path("both.npz"), "--y", path("both.npz"), "--output", path("one.keras"), "--secret-file", path("secret"))
	require.Equal(t, 2, status)
	require.Contains(t, stderr, "--secret-file and --tls-* to these and tpu")
}

// TestLaunchSecret: each job of keras launch has a secret of its own.
func TestLaunchSecret(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		status, stdout, stderr := execute(t, "launch", "-n", "2", "--", "/bin/sh", "-c", "echo $"+secretVariable)
		require.Zero(t, status, stderr)
		lines := strings.Fields(strings.NewReplacer("[worker 0]", "", "[worker 1]", "").Replace(stdout))
		require.Len(t, lines, 2)
		require.Equal(t, lines[0], lines[1])
		require.Len(t, lines[0], 64, fmt.Sprint(lines))
		seen[lines[0]] = true
	}
	require.Len(t, seen, 2)
}
