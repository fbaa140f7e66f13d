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
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestRooms: servers write what is read, and read what is pushed, in the memory of their client; where they cannot, or
// were lost meanwhile, it travels, and the memory is not used again.
func TestRooms(t *testing.T) {
	spec := clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 2})
	directories := []string{t.TempDir(), ""} // one keeps a log, which has the values
	options := func(task *cluster.Task) Options {
		o := Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, JoinTimeout: time.Minute, VariablePartitioner: partitioners.FixedShards{Shards: 2}}
		if task != nil {
			o.Directory = directories[task.Index]
		}
		return o
	}
	start := func(i int) *Server {
		server, err := NewServer(options(&cluster.Task{Type: "ps", Index: i}))
		require.NoError(t, err)
		go func() { _ = server.Serve(context.Background()) }()
		t.Cleanup(func() { server.Close() })
		return server
	}
	first := start(0)
	start(1)
	all, err := Join(t.Context(), options(nil))
	require.NoError(t, err)
	defer all.Close()
	j := all.(*job)
	const rows, width = 1001, 100
	want := make([]float32, rows*width)
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{rows, width}})
	require.NoError(t, err)
	room, gradients := parameters.NewRoom(rows*width), parameters.NewRoom(rows*width)
	defer room.Close()
	defer gradients.Close()
	require.NotEmpty(t, room.Note())
	var some []int64 // a part of each shard, in a row
	for i := int64(400); i < 700; i++ {
		some = append(some, i)
	}
	pull := func(read *parameters.Read) (inPlace bool) {
		t.Helper()
		require.NoError(t, j.Pull(t.Context(), read))
		_, inPlace = room.Place(read.Values)
		return inPlace
	}
	change := func() error {
		for i := range want {
			gradients.Floats[i] = float32(i)
			want[i] += float32(i)
		}
		err := j.Change(t.Context(), parameters.Change{Variable: v, Op: parameters.Add, Values: gradients.Floats, Room: gradients})
		clear(gradients.Floats)
		return err
	}
	check := func() {
		t.Helper()
		require.NoError(t, change())
		clear(room.Floats)
		read := &parameters.Read{Variable: v, Values: room.Floats, Room: room}
		require.True(t, pull(read))
		require.Equal(t, want, read.Values)
		read = &parameters.Read{Variable: v, IDs: some, Values: room.Floats, Room: room}
		pull(read)
		require.Equal(t, want[400*width:700*width], read.Values)
	}
	check()
	for _, l := range j.client.links {
		require.Empty(t, l.lanes.free, "no values were in a message")
	}
	check()

	require.NoError(t, first.Close())
	done := make(chan error)
	go func() { done <- change() }()
	for !gradients.Spoiled() { // the first attempt fails
		time.Sleep(time.Millisecond)
	}
	start(0)
	require.NoError(t, <-done)
	room.Spoil()
	check() // by lanes, into memory that is still good for that
	room, gradients = parameters.NewRoom(rows*width), parameters.NewRoom(rows*width)
	check()

	_, inside := room.Place(room.Floats)
	require.True(t, inside)
	_, err = j.client.executeIn(t.Context(), 0, &protocol.Push{Closure: protocol.ClosureID{Term: j.coordinator.term, Sequence: 1 << 40}, Updates: []protocol.Update{{Op: protocol.Add,
		Away: &protocol.Place{Note: room.Note(), Offset: 4 * rows * width, Count: 1}}}}, []*parameters.Room{room})
	require.ErrorContains(t, err, "1 numbers from byte")

	for _, l := range j.client.links {
		l.roomless.Store(true) // as if they were on another host
	}
	check()
}

// TestRoomless: a server that cannot open a room is not told of rooms any more.
func TestRoomless(t *testing.T) {
	spec := clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 1})
	server, err := NewServer(Options{Resolver: &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: "ps"}}})
	require.NoError(t, err)
	defer server.Close()
	server.methods["Read"] = func(_ *connection, w *protocol.Writer, b []byte) error { return server.read(nil, w, b) }
	server.methods["Execute"] = func(_ *connection, w *protocol.Writer, b []byte) error { return server.execute(nil, w, b) }
	go func() { _ = server.Serve(context.Background()) }()
	all, err := Join(t.Context(), Options{Resolver: &cluster.Simple{Cluster: spec}, JoinTimeout: time.Minute})
	require.NoError(t, err)
	defer all.Close()
	j := all.(*job)
	const n = 20000
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{n}, Value: func() ([]float32, error) { return make([]float32, n), nil }})
	require.NoError(t, err)
	room := parameters.NewRoom(n)
	defer room.Close()
	l := j.client.links[0]
	for range 2 {
		read := &parameters.Read{Variable: v, Values: room.Floats, Room: room}
		require.NoError(t, j.Pull(t.Context(), read))
		require.True(t, l.roomless.Load())
		require.Len(t, read.Values, n)
	}
	l.roomless.Store(false)
	for i := range room.Floats {
		room.Floats[i] = 3
	}
	require.NoError(t, j.Change(t.Context(), parameters.Change{Variable: v, Op: parameters.Add, Values: room.Floats, Room: room}))
	require.True(t, l.roomless.Load())
	require.False(t, room.Spoiled())
	read := &parameters.Read{Variable: v}
	require.NoError(t, j.Pull(t.Context(), read))
	require.Equal(t, room.Floats, read.Values)
}

// TestForgottenRooms: memory that nobody uses makes room for other memory of its client.
func TestForgottenRooms(t *testing.T) {
	c := &connection{}
	var first string
	held, err := shared.New(100)
	require.NoError(t, err)
	defer held.Close()
	busy, err := c.open(held.Note())
	require.NoError(t, err)
	for i := range 2 * maxLanes {
		own, err := shared.New(100)
		require.NoError(t, err)
		defer own.Close()
		m, err := c.open(own.Note())
		require.NoError(t, err)
		c.release(m)
		if i == 0 {
			first = own.Note()
		}
	}
	require.Len(t, c.lanes, maxLanes)
	require.NotContains(t, c.lanes, first)
	require.Contains(t, c.lanes, held.Note(), "it is in use")
	c.release(busy)
	c.end()
	require.Nil(t, c.lanes)
}
