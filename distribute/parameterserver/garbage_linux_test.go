package parameterserver_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/kernels/ir"
)

const serverVariable = "GOKERAS_TEST_PARAMETER_SERVER"

// ownMemory is the memory of a process that is not shared with others or a file, at its largest: what clients lend it
// is theirs.
func ownMemory(t *testing.T, pid int) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range bytes.Lines(status) {
		var kilobytes int
		if n, _ := fmt.Sscanf(string(line), "RssAnon: %d kB", &kilobytes); n == 1 {
			return 1024 * float64(kilobytes)
		}
	}
	t.Fatalf("no RssAnon in %s", status)
	return 0
}

// TestServerMemory: a server takes at most a tenth more memory than its variables with the state of the optimizer, also
// after much of the network's traffic has become garbage.
func TestServerMemory(t *testing.T) {
	const rows, width = 1 << 21, 16
	shards := func(o *parameterserver.Options) {
		o.VariablePartitioner, o.Deadline, o.JoinTimeout = partitioners.FixedShards{Shards: 1}, time.Minute, 5*time.Minute
	}
	if address := os.Getenv(serverVariable); address != "" {
		spec, err := cluster.NewSpec(map[string][]string{"ps": {address}, "worker": {"127.0.0.1:1"}})
		require.NoError(t, err)
		o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: "ps"}}}
		shards(&o)
		require.NoError(t, parameterserver.Serve(context.Background(), o))
		return
	}
	if testing.Short() {
		t.Skip("a server of 400 MB: not with -short")
	}
	address, err := clustertest.Jobs(t, map[string]int{"ps": 1}).Address(cluster.Task{Type: "ps"})
	require.NoError(t, err)
	spec, err := cluster.NewSpec(map[string][]string{"ps": {address}, "worker": {"127.0.0.1:1"}})
	require.NoError(t, err)
	server := exec.Command(os.Args[0], "-test.run=^TestServerMemory$")
	server.Env = append(os.Environ(), serverVariable+"="+address)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec}}
	shards(&o)
	parameterserver.NoSharing(&o)
	j, err := parameterserver.Join(t.Context(), o)
	require.NoError(t, err)
	before := ownMemory(t, server.Process.Pid)
	rule := parameters.Rule{Kind: parameters.Adam, Lazy: true, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7}
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{rows, width}, Rule: rule, Init: parameters.Init{Kind: parameters.Uniform, B: 1}})
	require.NoError(t, err)
	held := float64(4 * rows * width * 3)
	most := 0.0
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 { // more bytes than the variables have
		var ids []int64
		for id := r.Int64N(128); id < rows; id += 1 + r.Int64N(128) {
			ids = append(ids, id)
		}
		read := &parameters.Read{Variable: v, IDs: ids}
		require.NoError(t, j.Pull(t.Context(), read))
		require.NoError(t, j.Change(t.Context(), parameters.Change{Variable: v, Op: parameters.Gradient, Rate: 0.01, IDs: ids, Values: read.Values}))
		most = max(most, ownMemory(t, server.Process.Pid))
	}
	t.Logf("%.3f of the variables, with %.0f MB of the process before", most/held, before/1e6)
	require.Less(t, (most-before)/held, 1.1)
}

// meter counts the bytes of the connections of a server.
type meter struct {
	net.Listener
	in, out atomic.Int64
}

type metered struct {
	net.Conn
	of *meter
}

func (m *meter) Accept() (net.Conn, error) {
	conn, err := m.Listener.Accept()
	return &metered{conn, m}, err
}

func (c *metered) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.of.in.Add(int64(n))
	return n, err
}

func (c *metered) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.of.out.Add(int64(n))
	return n, err
}

// TestWireBytes: over the network a look-up costs the distinct ids one way and their rows the other way, and a gradient
// the distinct ids and their rows, with a tenth more at most for everything else, whatever the batch repeats.
func TestWireBytes(t *testing.T) {
	for _, width := range []int{8, 32} {
		t.Run(strconv.Itoa(width), func(t *testing.T) {
			var meters []*meter
			c := newCluster(t, 1, 2, func(o *parameterserver.Options) {
				o.VariablePartitioner, o.Deadline = partitioners.FixedShards{Shards: 2}, time.Minute
				parameterserver.NoSharing(o)
				if job, _ := o.Resolver.TaskType(); job == cluster.ParameterServer {
					spec, err := o.Resolver.Spec()
					require.NoError(t, err)
					index, err := o.Resolver.TaskIndex()
					require.NoError(t, err)
					address, err := spec.Address(cluster.Task{Type: job, Index: index})
					require.NoError(t, err)
					l, err := net.Listen("tcp", address)
					require.NoError(t, err)
					meters = append(meters, &meter{Listener: l})
					o.Listener = meters[len(meters)-1]
				}
			})
			j := c.coordinate()
			v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{100_000, width}, Rule: parameters.Rule{Kind: parameters.SGD}})
			require.NoError(t, err)
			total := func() (in, out int64) {
				for _, m := range meters {
					in, out = in+m.in.Load(), out+m.out.Load()
				}
				return in, out
			}
			in, out := total()
			wantIn, wantOut := 0, 0
			r := rand.New(rand.NewPCG(3, 4))
			zipf := rand.NewZipf(r, 1.2, 1, 99_999)
			for range 20 {
				ids := make([]int64, 4096*26)
				for i := range ids {
					ids[i] = int64(zipf.Uint64())
				}
				distinct, places := parameters.Distinct(ids)
				read := &parameters.Read{Variable: v, IDs: distinct}
				require.NoError(t, j.Pull(t.Context(), read))
				grads := parameters.SumRows(len(distinct), places, width, make([]float32, len(ids)*width))
				require.NoError(t, j.Change(t.Context(), parameters.Change{Variable: v, Op: parameters.Gradient, Rate: 1, IDs: distinct, Values: grads}))
				wantIn += len(distinct) * (8 + 8 + 4*width)
				wantOut += len(distinct) * 4 * width
			}
			nowIn, nowOut := total()
			t.Logf("to the servers %.4f of ids and rows, from them %.4f of rows", float64(nowIn-in)/float64(wantIn), float64(nowOut-out)/float64(wantOut))
			require.Less(t, float64(nowIn-in), 1.1*float64(wantIn))
			require.Less(t, float64(nowOut-out), 1.1*float64(wantOut))
			require.Greater(t, float64(nowIn-in), 0.99*float64(wantIn), "the meters measure")
		})
	}
}
