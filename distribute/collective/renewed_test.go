package collective

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
)

// certify writes the files of a worker anew: an authority of this name, and a certificate that is valid for a while.
func certify(t *testing.T, dir, authority string, valid time.Duration) *Security {
	t.Helper()
	var unused tls.Certificate
	seed := append([]byte("what makes an authority of the name "), authority...)
	root, err := derive(seed, defaultServerName, &unused)
	require.NoError(t, err)
	key, err := hkdf.Key(sha256.New, seed, nil, "gokeras collective authority 1", ed25519.SeedSize)
	require.NoError(t, err)
	signer := ed25519.NewKeyFromSeed(key)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{defaultServerName}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(valid),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	raw, err := x509.CreateCertificate(rand.Reader, leaf, root, public, signer)
	require.NoError(t, err)
	key, err = x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
		return path
	}
	return &Security{CAFile: write("ca", "CERTIFICATE", root.Raw), CertFile: write("cert", "CERTIFICATE", raw), KeyFile: write("key", "PRIVATE KEY", key)}
}

// TestCertificatesAreReplaced: a worker that lives longer than its certificate takes up new files, of another authority
// too, for connections that are made after they were written; open ones go on.
func TestCertificatesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	const valid = 3 * time.Second // x509 counts whole seconds
	security := certify(t, dir, "one", valid)
	began := time.Now()
	groups := join(t, 2, func(_ int, o *Options) { o.NoSharedMemory, o.Security = true, security })
	barrier := func() { noErrors(t, together(groups, func(_ int, g *Group) error { return g.Barrier(background()) })) }
	barrier()
	time.Sleep(time.Until(began.Add(valid + time.Second)))
	barrier()
	_, err := Join(background(), Options{Cluster: groups[0].settings.Cluster, Task: cluster.Task{Type: "worker", Index: 1}, Security: security})
	require.ErrorContains(t, err, "has expired on ")
	require.ErrorContains(t, err, "put a new one in its place")
	certify(t, dir, "two", time.Hour)
	for _, task := range []int{0, 1} {
		groups[task].transport.reset(1-task, 0)
	}
	require.Error(t, groups[0].Barrier(background()), "the connections are gone")
	noErrors(t, together(groups, func(_ int, g *Group) error {
		return g.Regroup(background(), Terms{Min: 2, Max: 2})
	}))
	barrier()
}
