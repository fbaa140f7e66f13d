//go:build unix

package multiworker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/internal/ports"
)

// These tests run workers as processes: this test binary, started again with TF_CONFIG set. A worker plays a role and
// writes what it found to a file as JSON.

const (
	roleVariable = "MULTIWORKER_TEST_ROLE"
	outVariable  = "MULTIWORKER_TEST_OUT"
	dirVariable  = "MULTIWORKER_TEST_DIR"

	secretVariable = "MULTIWORKER_TEST_SECRET" // set where addresses are not those of the loopback interface
)

// role is what a worker does; it gets the strategy and returns what the test looks at.
type role struct {
	devices []string
	stream  bool // over the network although all are on one host
	hurried bool // with the short deadline
	pack    int  // bytes of a bucket of gradients; 0: the default
	elastic *distribute.Elastic
	patient time.Duration // wait for workers; 0: 30 s
	tells   bool          // what the group observes
	run     func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (any, error)
}

// deadline is that of the roles in which workers are lost: short, so that the tests are. The others have the default,
// which a busy machine does not reach.
const deadline = time.Second

func TestMain(m *testing.M) {
	name := os.Getenv(roleVariable)
	switch name {
	case "":
		os.Exit(m.Run())
	case "chaos":
		if err := chaosWorker(); err != nil {
			fmt.Println("worker:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if err := play(roles()[name]); err != nil {
		fmt.Println("worker:", err)
		os.Exit(1)
	}
}

func play(r role) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if r.devices == nil {
		r.devices = []string{"cpu:0"}
	}
	if r.patient == 0 {
		r.patient = 30 * time.Second
	}
	o := multiworker.Options{Devices: r.devices, JoinTimeout: r.patient, NoSharedMemory: r.stream, Elastic: r.elastic, Security: secured(os.Getenv(secretVariable))}
	o.Communication.BytesPerPack = r.pack
	if r.tells {
		o.Observe = func(text string) { fmt.Println(text) }
	}
	if r.hurried {
		o.Deadline = deadline
	}
	s, err := multiworker.NewStrategy(ctx, o)
	if err != nil {
		return err
	}
	out, err := r.run(ctx, s)
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return os.WriteFile(os.Getenv(outVariable), text, 0o666)
}

// job is a set of worker processes.
type job struct {
	t       *testing.T
	workers []*exec.Cmd
	output  []*lockedBuffer
	files   []string
	done    []chan error

	addresses []string
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start runs n workers in a role.
func start(t *testing.T, n int, name, dir string) *job {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	require.Contains(t, roles(), name)
	addresses, err := ports.Free(n)
	require.NoError(t, err)
	return startAt(t, addresses, func(_ int, c *exec.Cmd) error { return c.Start() }, name, dir)
}

// startAt runs a worker at each address in a role.
func startAt(t *testing.T, addresses []string, run func(worker int, c *exec.Cmd) error, name, dir string) *job {
	t.Helper()
	n := len(addresses)
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: addresses})
	require.NoError(t, err)
	j := &job{t: t, addresses: addresses}
	out := t.TempDir()
	for i := range n {
		config, err := cluster.FormatTFConfig(spec, cluster.Task{Type: cluster.Worker, Index: i})
		require.NoError(t, err)
		cmd := exec.Command(os.Args[0])
		file, text, done := filepath.Join(out, fmt.Sprint(i)), &lockedBuffer{}, make(chan error, 1)
		cmd.Env = append(os.Environ(), roleVariable+"="+name, outVariable+"="+file, dirVariable+"="+dir, cluster.TFConfigVariable+"="+config, "GOMAXPROCS=2")
		cmd.Stdout, cmd.Stderr = text, text
		require.NoError(t, run(i, cmd))
		go func() { done <- cmd.Wait() }()
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		j.workers, j.output, j.files, j.done = append(j.workers, cmd), append(j.output, text), append(j.files, file), append(j.done, done)
	}
	return j
}

// again starts a worker that has ended again.
func (j *job) again(i int) {
	j.t.Helper()
	cmd, done := exec.Command(j.workers[i].Path), make(chan error, 1)
	cmd.Env, cmd.Stdout, cmd.Stderr = j.workers[i].Env, j.output[i], j.output[i]
	require.NoError(j.t, cmd.Start())
	go func() { done <- cmd.Wait() }()
	j.t.Cleanup(func() { _ = cmd.Process.Kill() })
	j.workers[i], j.done[i] = cmd, done
}

// wait returns when the worker has ended.
func (j *job) wait(i int) error {
	j.t.Helper()
	select {
	case err := <-j.done[i]:
		return err
	case <-time.After(50 * time.Second):
		j.t.Fatalf("worker %d hangs; it said:\n%s", i, j.output[i])
		return nil
	}
}

// until waits for a text in the worker's output.
func (j *job) until(i int, text string) {
	j.t.Helper()
	for end := time.Now().Add(30 * time.Second); !strings.Contains(j.output[i].String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			j.t.Fatalf("worker %d never said %q but:\n%s", i, text, j.output[i])
		}
	}
}

// read decodes what a worker wrote.
func (j *job) read(i int, into any) {
	j.t.Helper()
	require.NoErrorf(j.t, j.wait(i), "worker %d: %s", i, j.output[i])
	text, err := os.ReadFile(j.files[i])
	require.NoError(j.t, err)
	require.NoError(j.t, json.Unmarshal(text, into))
}

// all decodes what all workers wrote.
func all[T any](j *job) []T {
	j.t.Helper()
	out := make([]T, len(j.workers))
	for i := range out {
		j.read(i, &out[i])
	}
	return out
}
