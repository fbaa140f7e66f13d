package parameterserver

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/kernels/ir"
)

// pushTest is a job whose values and gradients share one room, as those of a worker do.
type pushTest struct {
	*testing.T
	spec        *cluster.Spec
	directories []string
	replicas    int
	servers     []*Server
	j           *job
	v, small    *parameters.Variable
	room        *parameters.Room
	reads       []*parameters.Read
	want        []float32 // of both
	sequence    uint64
}

const (
	pushRows, pushWidth = 1001, 100
	pushSmall           = 10 // numbers that no room is worth
)

func newPushTest(t *testing.T, replicas int) *pushTest {
	p := &pushTest{T: t, spec: clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 2}), directories: []string{t.TempDir(), t.TempDir()}, replicas: replicas, servers: make([]*Server, 2), sequence: 1 << 40}
	for i := range p.servers {
		p.start(i, nil)
	}
	all, err := Join(t.Context(), p.options(nil))
	require.NoError(t, err)
	t.Cleanup(func() { all.Close() })
	p.j = all.(*job)
	rule := parameters.Rule{Kind: parameters.SGD}
	p.v, _, err = p.j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{pushRows, pushWidth}, Rule: rule})
	require.NoError(t, err)
	p.small, _, err = p.j.Create(t.Context(), parameters.Spec{Name: "small", Shape: ir.Shape{pushSmall}, Rule: rule})
	require.NoError(t, err)
	p.want = make([]float32, pushRows*pushWidth+pushSmall)
	p.renew()
	return p
}

func (p *pushTest) options(task *cluster.Task) Options {
	o := Options{Resolver: &cluster.Simple{Cluster: p.spec, Task: task}, JoinTimeout: time.Minute, Deadline: 300 * time.Millisecond, VariablePartitioner: partitioners.FixedShards{Shards: 2}, Replicas: p.replicas}
	if task != nil && p.replicas < 2 {
		o.Directory = p.directories[task.Index]
	}
	return o
}

func (p *pushTest) start(i int, change func(s *Server)) {
	server, err := NewServer(p.options(&cluster.Task{Type: "ps", Index: i}))
	require.NoError(p, err)
	if change != nil {
		change(server)
	}
	go func() { _ = server.Serve(context.Background()) }()
	p.Cleanup(func() { server.Close() })
	p.servers[i] = server
}

// renew makes a new room.
func (p *pushTest) renew() {
	p.room = parameters.NewRoom(len(p.want))
	p.Cleanup(p.room.Close)
	p.reads = []*parameters.Read{
		{Variable: p.v, Values: p.room.Floats[:pushRows*pushWidth], Room: p.room},
		{Variable: p.small, Values: p.room.Floats[pushRows*pushWidth:], Room: p.room},
	}
}

// step sends gradients that lie where the values are wanted.
func (p *pushTest) step(round uint64) error {
	for i := range p.want {
		g := float32(i % 7)
		p.room.Floats[i] = g
		if round == 0 {
			p.want[i] -= g
		}
	}
	o := &parameters.Outcome{Next: p.reads, Round: round}
	for _, r := range p.reads {
		o.Changes = append(o.Changes, parameters.Change{Variable: r.Variable, Op: parameters.Gradient, Rate: 1, Values: r.Values, Room: p.room})
	}
	p.sequence++
	return p.j.client.push(p.Context(), protocol.ClosureID{Term: p.j.coordinator.term, Sequence: p.sequence}, 1, o)
}

// check compares what came, if it should have, and what is on the servers.
func (p *pushTest) check(came bool) {
	p.Helper()
	at := 0
	for _, r := range p.reads {
		require.Equal(p, came, r.Came)
		n := len(r.Values)
		if came {
			require.Equal(p, p.want[at:at+n], r.Values)
		}
		own := &parameters.Read{Variable: r.Variable}
		require.NoError(p, p.j.Pull(p.Context(), own))
		require.Equal(p, p.want[at:at+n], own.Values)
		at += n
	}
}

// TestNext: what a closure changes and what the next one reads are one message to each server, also where the values
// replace the gradients.
func TestNext(t *testing.T) {
	p := newPushTest(t, 1)
	for range 3 {
		require.NoError(t, p.step(0))
		p.check(true)
		require.False(t, p.room.Spoiled())
		require.True(t, p.reads[0].InPlace)
	}
	require.Equal(t, []uint64{3, 3}, p.reads[0].Seen)
	p.sequence-- // the same closure again
	want := append([]float32(nil), p.want...)
	require.NoError(t, p.step(0))
	p.want = want
	p.check(true)
	require.NoError(t, p.step(1), "a round waits until it is settled")
	p.check(false)
	for _, l := range p.j.client.links {
		l.roomless.Store(true) // as if they were on another host
	}
	require.NoError(t, p.step(0))
	p.check(true)
	require.False(t, p.reads[0].InPlace)
}

// TestNextOfCopies: a server with a copy of everything is asked for values in a message of their own.
func TestNextOfCopies(t *testing.T) {
	p := newPushTest(t, 2)
	require.NoError(t, p.step(0))
	p.check(false)
}

// TestNextOfOtherServers: where a server holds none of what a closure changes, values come with a message of their own.
func TestNextOfOtherServers(t *testing.T) {
	p := newPushTest(t, 1)
	one, _, err := p.j.Create(t.Context(), parameters.Spec{Name: "one", Shape: ir.Shape{1}, Rule: parameters.Rule{Kind: parameters.SGD}})
	require.NoError(t, err)
	require.Len(t, one.Shards, 1)
	o := &parameters.Outcome{Next: p.reads, Changes: []parameters.Change{{Variable: one, Op: parameters.Gradient, Rate: 1, Values: []float32{1}}}}
	require.NoError(t, p.j.client.push(t.Context(), protocol.ClosureID{Term: p.j.coordinator.term, Sequence: p.sequence}, 1, o))
	p.check(false)
}

// TestNextFaults: a server that is lost at any moment of a message, also when it has written values over the gradients
// that it would be sent again, has made the change once.
func TestNextFaults(t *testing.T) {
	for _, when := range []string{"before", "amid", "after"} {
		t.Run(when, func(t *testing.T) {
			p := newPushTest(t, 1)
			require.NoError(t, p.step(0))
			require.NoError(t, p.servers[0].Close())
			lost := make(chan struct{})
			var once sync.Once
			p.start(0, func(s *Server) {
				s.methods["ExecuteRead"] = func(c *connection, w *protocol.Writer, b []byte) error {
					switch when {
					case "amid": // the change is in the log, and half of the values are written
						rooms := visited{c: c}
						r := protocol.NewReader(b)
						command, err := protocol.ReadCommand(r, rooms.find)
						if err != nil {
							return err
						}
						own := s.whole(b[:len(b)-r.Left()], command, &rooms)
						if _, err := s.change(w, own, command); err != nil {
							return err
						}
						u := command.(*protocol.Push).Updates[0]
						clear(u.Values[:len(u.Values)/2])
						rooms.leave()
					case "after":
						if err := s.executeRead(c, w, b); err != nil {
							return err
						}
					}
					once.Do(func() { close(lost) })
					return errEnding
				}
			})
			done := make(chan error, 1)
			go func() { done <- p.step(0) }()
			select {
			case <-lost:
			case err := <-done:
				require.NoError(t, err, "the server was not asked")
			}
			require.NoError(t, p.servers[0].Close())
			p.start(0, nil)
			require.NoError(t, <-done)
			require.True(t, p.room.Spoiled())
			p.check(true)
			p.renew()
			require.NoError(t, p.step(0))
			p.check(true)
		})
	}
}

// TestCloseAgain: a server that is closed while it serves is closed twice, and by a program perhaps once more.
func TestCloseAgain(t *testing.T) {
	p := newPushTest(t, 1)
	require.NoError(t, p.step(0))
	for range 3 {
		require.NoError(t, p.servers[0].Close())
	}
}

// TestNextBad: what cannot be answered after a change is refused before it is made.
func TestNextBad(t *testing.T) {
	p := newPushTest(t, 1)
	require.NoError(t, p.step(0))
	shard := p.v.Shards[0]
	n := shard.Rows * pushWidth
	for text, encode := range map[string]func(w *protocol.Writer){
		"whole tables are read": func(w *protocol.Writer) {
			w.Uint(1)
			w.Uint(0)
			w.Uint(0)
			w.Bool(true)
			w.Ints([]int64{1})
			w.Bool(false)
		},
		"there is no table 9":        func(w *protocol.Writer) { w.Uint(1); w.Uint(9); w.Uint(0); w.Bool(false); w.Bool(false) },
		"a length is beyond the end": func(w *protocol.Writer) { w.Uint(1 << 40) },
		"there is room for 5":        func(w *protocol.Writer) { p.place(w, 5) },
		"numbers from byte 0 of":     func(w *protocol.Writer) { p.place(w, 1<<40) },
		"more bytes than expected":   func(w *protocol.Writer) { w.Uint(0); w.Uint(7) },
	} {
		e := &exchange{link: p.j.client.links[shard.Server], method: "ExecuteRead", build: func(w *protocol.Writer, _ bool) {
			protocol.EncodeCommand(w, &protocol.Push{Closure: protocol.ClosureID{Term: p.j.coordinator.term, Sequence: 1 << 41}, Updates: []protocol.Update{{Table: shard.Number, Op: protocol.Add, Values: make([]float32, n)}}})
			encode(w)
		}}
		_, done, err := e.do(t.Context(), 8*n, 0, time.Minute)
		done()
		require.ErrorContains(t, err, text)
	}
	p.check(true)
}

func (p *pushTest) place(w *protocol.Writer, count int) {
	w.Uint(1)
	w.Uint(uint64(p.v.Shards[0].Number))
	w.Uint(0)
	w.Bool(false)
	w.Bool(true)
	(&protocol.Place{Note: p.room.Note(), Count: count}).Encode(w)
}
