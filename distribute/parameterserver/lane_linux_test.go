package parameterserver

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/internal/shared"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestLanes: large messages lie in shared memory, which is used again, and go over the network where the server cannot
// map it, or was lost meanwhile.
func TestLanes(t *testing.T) {
	spec := clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 1})
	options := func(task *cluster.Task) Options {
		return Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, Directory: t.TempDir(), JoinTimeout: time.Minute}
	}
	o := options(&cluster.Task{Type: "ps"})
	start := func() *Server {
		server, err := NewServer(o)
		require.NoError(t, err)
		go func() { _ = server.Serve(context.Background()) }()
		t.Cleanup(func() { server.Close() })
		return server
	}
	server := start()
	all, err := Join(t.Context(), options(nil))
	require.NoError(t, err)
	defer all.Close()
	j := all.(*job)
	const rows, width = 1000, 100
	want := make([]float32, rows*width)
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{rows, width}, Value: func() ([]float32, error) {
		for i := range want {
			want[i] = float32(i)
		}
		return want, nil
	}})
	require.NoError(t, err)
	l := &j.client.links[0].lanes
	check := func() {
		t.Helper()
		ones := make([]float32, rows*width)
		for i := range ones {
			ones[i] = 1
			want[i]++
		}
		require.NoError(t, j.Change(t.Context(), parameters.Change{Variable: v, Op: parameters.Add, Values: ones}))
		read := &parameters.Read{Variable: v}
		require.NoError(t, j.Pull(t.Context(), read))
		require.Equal(t, want, read.Values)
		some := &parameters.Read{Variable: v}
		for i := int64(0); i < rows; i += 2 {
			some.IDs = append(some.IDs, i)
		}
		require.NoError(t, j.Pull(t.Context(), some))
		require.Equal(t, want[2*width:3*width], some.Values[width:2*width])
	}
	check()
	require.Len(t, l.free, 1)
	first := &l.free[0].Bytes[0]
	check()
	require.Len(t, l.free, 1, "one call at a time needs one lane")
	require.Same(t, first, &l.free[0].Bytes[0])

	err = j.Change(t.Context(), parameters.Change{Variable: &parameters.Variable{Name: "x", Shape: v.Shape, Width: width, Shards: []parameters.Shard{{Rows: rows, Number: 7}}}, Op: parameters.Add, Values: want})
	require.ErrorContains(t, err, "there is no table 7")
	require.Len(t, l.free, 1, "an error is an answer too")

	require.NoError(t, server.Close())
	start()
	check() // the first attempt may fail, and gives up the lane
	check()
	require.Len(t, l.free, 1)

	l.free[0].Close()
	l.free = []*shared.Memory{{Bytes: make([]byte, 4<<20)}} // as if the server could not map it
	check()
	require.True(t, l.refused)
	require.Empty(t, l.free)
	check()
	require.Nil(t, l.take(1<<20))
}

// TestLaneRequests: a server answers whatever requests say about memory.
func TestLaneRequests(t *testing.T) {
	own, err := shared.New(4096)
	require.NoError(t, err)
	defer own.Close()
	s := &Server{settings: &settings{}, methods: map[string]method{"Read": func(_ *connection, w *protocol.Writer, b []byte) error {
		w.Bytes(b)
		return nil
	}}}
	c := &connection{}
	call := func(q laneRequest) ([]byte, error) {
		out, err := s.answerShared(t.Context(), c, q.encode())
		if err != nil {
			return nil, err
		}
		return out.data, nil
	}
	out, err := call(laneRequest{note: own.Note(), method: "Read", length: 5, answer: 64})
	require.NoError(t, err)
	require.Equal(t, inLane, out[8])
	out, err = call(laneRequest{note: own.Note(), method: "Read", length: 4032, answer: 4032})
	require.NoError(t, err)
	require.Equal(t, answered, out[8], "too long for its place")
	require.Greater(t, len(out), 4032)
	out, err = call(laneRequest{note: "1 1 00", method: "Read"})
	require.NoError(t, err)
	require.Equal(t, unmapped, out[8])
	for _, bad := range []laneRequest{{method: "Stop"}, {method: "Read", length: 65, answer: 64}, {method: "Read", answer: 4096}, {method: "Read", answer: 1}, {method: "Read", answer: 1 << 62}} {
		bad.note = own.Note()
		_, err := call(bad)
		require.ErrorContains(t, err, "InvalidArgument", "%+v", bad)
	}
	_, err = s.answerShared(t.Context(), c, []byte{200})
	require.Error(t, err)
	c.end()
	require.Nil(t, c.lanes)
	out, err = call(laneRequest{note: own.Note(), method: "Read", length: 5, answer: 64})
	require.NoError(t, err)
	require.Equal(t, unmapped, out[8])
}
