package collective

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective/internal/membership"
)

// Secrets of jobs of these tests.
const (
	testSecret  = "b8b7b265c39dc822f029ed29780e8a1b02335b8a254367c4b2fdfaf6b3cc75c8"
	otherSecret = "8ceba8f94074ef5d5d1e07dba1690f608820ce05203f1bde18d86fea51084fb0"
)

// stranger is a job in which two workers do not belong together.
type stranger struct {
	workers [2]Options
	want    [2]string // what each says of the other
}

func strangers() map[string]stranger {
	secret := &Security{Secret: []byte(testSecret)}
	return map[string]stranger{
		"another job":         {[2]Options{{Job: "a"}, {Job: "b"}}, [2]string{"another job or cluster", "another job or cluster"}},
		"no secret":           {[2]Options{{Security: secret}, {}}, [2]string{"authentication handshake failed", "connection error"}},
		"another secret":      {[2]Options{{Security: secret}, {Security: &Security{Secret: []byte(otherSecret)}}}, [2]string{"failed to verify certificate", "failed to verify certificate"}},
		"another name":        {[2]Options{{Security: secret}, {Security: &Security{Secret: secret.Secret, ServerName: "other"}}}, [2]string{"certificate is valid for other", "certificate is valid for gokeras"}},
		"an earlier protocol": {[2]Options{{version: 2}, {version: 1}}, [2]string{`protocol version "2"; this worker speaks 1`, `protocol version "1"; this worker speaks 2`}},
	}
}

// Workers of another job, without the secret, with another secret or with certificates of another authority are
// refused, whoever calls whom.
func TestStrangers(t *testing.T) {
	cases := strangers()
	for name, c := range cases {
		for rank, want := range c.want {
			t.Run(fmt.Sprintf("%s: worker %d", name, rank), func(t *testing.T) {
				t.Parallel()
				spec, list := listeners(t, 2)
				ctx, cancel := context.WithCancel(background())
				join := func(rank int, timeout time.Duration) error {
					o := c.workers[rank]
					o.Cluster, o.Task, o.Listener, o.JoinTimeout = spec, cluster.Task{Type: "worker", Index: rank}, list[rank], timeout
					_, err := Join(ctx, o)
					return err
				}
				var other sync.WaitGroup
				other.Go(func() { _ = join(1-rank, time.Hour) }) // there until the worker has given up
				err := join(rank, 2*time.Second)
				cancel()
				other.Wait()
				var missing *JoinError
				require.ErrorAs(t, err, &missing)
				require.ErrorContains(t, err, want)
			})
		}
	}
}

// TestStrangersGiveUp: workers that do not belong together end within deadlines, long before the time that they would
// wait for others, and whichever of them ends first.
func TestStrangersGiveUp(t *testing.T) {
	cases := strangers()
	cases["another cluster"] = stranger{[2]Options{{}, {Cluster: &cluster.Spec{}}}, [2]string{"another job or cluster", "another job or cluster"}}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, list := listeners(t, 2)
			errs := make(chan error, 2)
			for rank, o := range c.workers {
				other := o.Cluster != nil
				if o.Cluster = spec; other {
					addresses, err := spec.JobTasks("worker")
					require.NoError(t, err)
					o.Cluster, err = cluster.NewSpec(map[string][]string{"worker": append(addresses, "127.0.0.1:9")})
					require.NoError(t, err)
				}
				o.Task, o.Listener, o.JoinTimeout, o.Deadline = cluster.Task{Type: "worker", Index: rank}, list[rank], time.Hour, 300*time.Millisecond
				go func() {
					_, err := Join(background(), o)
					if t.Log(err); err == nil || !strings.Contains(err.Error(), c.want[rank]) || !strings.Contains(err.Error(), "give all workers the same cluster") {
						err = fmt.Errorf("worker %d: expected %q, received %w", rank, c.want[rank], err)
					} else {
						err = nil
					}
					errs <- err
				}()
			}
			for range c.workers {
				select {
				case err := <-errs:
					require.NoError(t, err)
				case <-time.After(30 * time.Second):
					t.Fatal("a worker waits on")
				}
			}
		})
	}
}

func TestMutualTLS(t *testing.T) {
	groups := join(t, 3, func(_ int, o *Options) {
		o.NoSharedMemory, o.Security = true, &Security{Secret: []byte(testSecret)}
	})
	noErrors(t, together(groups, func(rank int, g *Group) error {
		v := make([]float32, 100_000)
		v[99_999] = float32(rank)
		err := g.AllReduce(background(), Sum, []Tensor{Of(v)})
		if err == nil && v[99_999] != 3 {
			t.Error(v[99_999])
		}
		return err
	}))
}

func TestCertificateFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
		return path
	}
	var own tls.Certificate
	authority, err := derive([]byte("what makes the test's authority"), "training.example", &own)
	require.NoError(t, err)
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	require.NoError(t, err)
	security := &Security{CAFile: write("ca", "CERTIFICATE", authority.Raw), CertFile: write("cert", "CERTIFICATE", own.Certificate[0]),
		KeyFile: write("key", "PRIVATE KEY", key), ServerName: "training.example"}
	groups := join(t, 2, func(_ int, o *Options) { o.NoSharedMemory, o.Security = true, security })
	noErrors(t, together(groups, func(_ int, g *Group) error { return g.Barrier(background()) }))
	_, err = (&Security{CAFile: security.KeyFile, CertFile: security.CertFile, KeyFile: security.KeyFile}).config()
	require.ErrorContains(t, err, "holds no certificate")
	_, err = (&Security{CAFile: security.CAFile, CertFile: security.CertFile, KeyFile: security.CertFile}).config()
	require.ErrorContains(t, err, "this worker's certificate")
}

// Every stream must name the job, the version and a task.
func TestIdentify(t *testing.T) {
	g := join(t, 2, nil)[0]
	job, version := strconv.FormatUint(g.settings.job, 16), strconv.Itoa(membership.Version)
	for want, pairs := range map[string][]string{
		"":                 {keyVersion, version, keyJob, job, keyTask, "1", keyView, "a"},
		"version":          {keyVersion, "1", keyJob, job, keyTask, "1", keyView, "a"},
		"another job":      {keyVersion, version, keyJob, "1" + job, keyTask, "1", keyView, "a"},
		"not a task":       {keyVersion, version, keyJob, job, keyTask, "2", keyView, "a"},
		"not a task ":      {keyVersion, version, keyJob, job, keyTask, "0", keyView, "a"},
		"no view":          {keyVersion, version, keyJob, job, keyTask, "1"},
		`version ""`:       {},
		`version "" twice`: {keyVersion, version, keyVersion, version, keyJob, job, keyTask, "1", keyView, "a"},
	} {
		task, view, err := g.transport.identify(metadata.NewIncomingContext(background(), metadata.Pairs(pairs...)))
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, []uint64{1, 10}, []uint64{uint64(task), view})
			continue
		}
		require.ErrorContains(t, err, strings.TrimSuffix(strings.TrimSpace(want), " twice"))
	}
}

// A client without a certificate of the job gets no further than the handshake, even if it does not care who the server
// is.
func TestClientWithoutCertificate(t *testing.T) {
	spec, list := listeners(t, 2)
	ctx, cancel := context.WithCancel(background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = Join(ctx, Options{Cluster: spec, Task: cluster.Task{Type: "worker", Index: 0}, Listener: list[0],
			Security: &Security{Secret: []byte(testSecret)}}) // it waits until the end of the test
	}()
	defer func() { cancel(); <-ended; require.NoError(t, list[1].Close()) }()
	var other tls.Certificate
	_, err := derive([]byte(otherSecret), defaultServerName, &other)
	require.NoError(t, err)
	for name, certificates := range map[string][]tls.Certificate{"none": nil, "another": {other}} {
		conn, err := tls.Dial("tcp", list[0].Addr().String(), &tls.Config{InsecureSkipVerify: true, Certificates: certificates, NextProtos: []string{"h2"}})
		if err == nil {
			require.NoError(t, conn.SetDeadline(time.Now().Add(5*time.Second)))
			_, err = io.ReadAll(conn)
			_ = conn.Close()
		}
		require.ErrorContains(t, err, "certificate", name)
	}
}

// Garbage on the port neither stops nor changes the work of a group.
func TestGarbageOnThePort(t *testing.T) {
	spec, list := listeners(t, 2)
	groups := make([]*Group, 2)
	noErrors(t, together([]*Group{{}, {}}, func(rank int, _ *Group) (err error) {
		groups[rank], err = Join(background(), Options{Cluster: spec, Task: cluster.Task{Type: "worker", Index: rank}, Listener: list[rank], JoinTimeout: 5 * time.Second,
			NoSharedMemory: true})
		return err
	}))
	address, err := spec.Address(cluster.Task{Type: "worker", Index: 0})
	require.NoError(t, err)
	var strangers []net.Conn
	for i := range 100 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			continue
		}
		strangers = append(strangers, conn)
		switch i % 3 {
		case 0:
			_, _ = conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")) // a stranger may be cut off
		case 1:
			_, _ = conn.Write([]byte(strings.Repeat("\xff", 10_000)))
		}
	}
	for range 20 {
		noErrors(t, together(groups, func(_ int, g *Group) error { return g.Barrier(background()) }))
	}
	for _, conn := range strangers {
		_ = conn.Close()
	}
	noErrors(t, together(groups, func(_ int, g *Group) error { return g.Close() }))
}

// A secret is random or refused: handshakes can be recorded, and guesses tried on them.
func TestSecretsAreRandom(t *testing.T) {
	raw, err := hex.DecodeString(testSecret)
	require.NoError(t, err)
	for _, secret := range []string{NewSecret(), testSecret, strings.ToUpper(testSecret), string(raw)} {
		_, err := (&Security{Secret: []byte(secret)}).config()
		require.NoError(t, err, secret)
	}
	a, err := decodeSecret(raw)
	require.NoError(t, err)
	b, err := decodeSecret([]byte(testSecret))
	require.NoError(t, err)
	require.Equal(t, a, b, "both forms are the same secret")
	require.NotEqual(t, NewSecret(), NewSecret())
	for _, secret := range []string{"", "abc", "correct horse battery staple", "a text of exactly 32 characters!", strings.Repeat("0", 64), strings.Repeat("0123456789abcdef", 4),
		testSecret[1:], testSecret + "\n", "g" + testSecret[1:], string(raw[1:]), string(make([]byte, 32))} {
		_, err := (&Security{Secret: []byte(secret)}).config()
		require.ErrorContains(t, err, "keras secret", secret)
	}
}
