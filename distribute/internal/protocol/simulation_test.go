package protocol

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A simulated job: a coordinator, workers and servers that exchange messages which a schedule delivers late, twice or
// never, while processes die.

type message struct {
	to      string
	from    Worker
	closure ClosureID
	low     uint64
	server  int
	answer  error
}

type run struct {
	low   uint64
	acked map[int]bool
}

type simulation struct {
	t       *testing.T
	r       *rand.Rand
	d       *Dispatcher
	term    uint64
	servers []*State
	logs    [][][]byte // of each server: what survives it
	down    []bool
	workers []map[ClosureID]*run // of the present incarnation; nil: down
	numbers []uint64
	net     []message
	ended   map[uint64]int // closures of the present coordinator
	total   int            // closures that ended with a value, of all
	unknown int            // closures of coordinators that died before they ended
}

// simulated is the table of each server. Weight decay lets the order matter in which it is assigned and trained.
var simulated = Definition{Name: "v", Rows: 1, Width: 1, Rule: Rule{Kind: SGD, Momentum: 0.5, WeightLoss: 0.1}}

func newSimulation(t *testing.T, seed uint64, workers, servers int) *simulation {
	s := &simulation{t: t, r: rand.New(rand.NewPCG(seed, 1)), down: make([]bool, servers), logs: make([][][]byte, servers), workers: make([]map[ClosureID]*run, workers), numbers: make([]uint64, workers)}
	for range servers {
		s.servers = append(s.servers, NewState(Limits{}))
	}
	s.takeOver()
	for i := range servers {
		s.execute(i, &Create{Term: s.term, Definition: simulated})
	}
	return s
}

// execute does what a server does: log, then change.
func (s *simulation) execute(server int, c Command) error {
	state := s.servers[server]
	if err := state.Check(c); err != nil {
		return err
	}
	if !state.Seen(c) {
		var w Writer
		EncodeCommand(&w, c)
		s.logs[server] = append(s.logs[server], w.B)
	}
	_, err := state.Execute(c)
	return err
}

func (s *simulation) takeOver() {
	if s.d != nil {
		s.unknown += s.d.Running() + s.d.Waiting()
	}
	s.term++
	for i := range s.servers {
		if s.down[i] {
			s.recoverServer(i)
		}
		require.NoError(s.t, s.execute(i, &Take{Term: s.term}))
	}
	s.d, s.ended = NewDispatcher(s.term, 3), map[uint64]int{}
}

func (s *simulation) recoverServer(i int) {
	s.servers[i], s.down[i] = NewState(Limits{}), false
	for _, b := range s.logs[i] {
		c, err := DecodeCommand(b)
		require.NoError(s.t, err)
		_, err = s.servers[i].Execute(c)
		require.NoError(s.t, err)
	}
}

func (s *simulation) send(m message) {
	if s.r.IntN(10) > 0 && len(s.net) < 200 { // else it is lost
		s.net = append(s.net, m)
	}
	if s.r.IntN(20) == 0 {
		s.net = append(s.net, m)
	}
}

func (s *simulation) worker(i int) Worker { return Worker{i, s.numbers[i]} }

// step lets one thing happen.
func (s *simulation) step(faults bool) {
	switch n := s.r.IntN(100); {
	case n < 2 && faults: // a worker dies; the coordinator hears of it
		i := s.r.IntN(len(s.workers))
		if s.workers[i] != nil {
			s.d.Lost(s.worker(i))
			s.workers[i] = nil
		}
	case n < 3 && faults: // a worker seems dead, but lives
		s.d.Lost(s.worker(s.r.IntN(len(s.workers))))
	case n < 8: // a worker starts, or is heard again
		i := s.r.IntN(len(s.workers))
		if s.workers[i] == nil {
			s.workers[i] = map[ClosureID]*run{}
			s.numbers[i]++
		}
		s.d.Joined(s.worker(i))
	case n < 10 && faults: // a server dies
		s.down[s.r.IntN(len(s.down))] = true
	case n < 14:
		if i := s.r.IntN(len(s.down)); s.down[i] {
			s.recoverServer(i)
		}
	case n < 15 && faults && s.r.IntN(100) == 0: // the coordinator dies, another one comes
		s.takeOver()
	case n < 40: // a worker is given a closure
		i := s.r.IntN(len(s.workers))
		if s.workers[i] == nil {
			return
		}
		if a, ok := s.d.Next(s.worker(i)); ok {
			s.workers[i][a.Closure] = &run{low: a.Low, acked: map[int]bool{}}
		}
	case n < 60: // it sends what is not acknowledged, again and again
		i := s.r.IntN(len(s.workers))
		for id, run := range s.workers[i] {
			for server := range s.servers {
				if !run.acked[server] {
					s.send(message{to: "server", from: s.worker(i), closure: id, low: run.low, server: server})
				}
			}
			break
		}
	case len(s.net) > 0:
		at := s.r.IntN(len(s.net))
		m := s.net[at]
		s.net[at] = s.net[len(s.net)-1]
		s.net = s.net[:len(s.net)-1]
		s.deliver(m)
	}
	for _, o := range s.d.Ended() {
		s.ended[o.Sequence]++
		require.Equal(s.t, 1, s.ended[o.Sequence], "closure %d ended twice", o.Sequence)
		require.NoError(s.t, o.Err)
		s.total++
	}
}

func (s *simulation) deliver(m message) {
	if m.to == "server" {
		if s.down[m.server] {
			return
		}
		m.answer = s.execute(m.server, &Push{Closure: m.closure, Low: m.low, Updates: []Update{{Op: Add, Values: []float32{1}}}})
		m.to = "worker"
		s.send(m)
		return
	}
	runs := s.workers[m.from.Task]
	run := runs[m.closure]
	if run == nil || m.from != s.worker(m.from.Task) {
		return
	}
	if m.answer != nil { // it is over
		require.ErrorIs(s.t, m.answer, ErrStale)
		delete(runs, m.closure)
		if m.closure.Term == s.term {
			s.d.Result(m.from, m.closure.Sequence, nil, m.answer, true)
		}
		return
	}
	if run.acked[m.server] = true; len(run.acked) == len(s.servers) {
		delete(runs, m.closure)
		if m.closure.Term == s.term {
			s.d.Result(m.from, m.closure.Sequence, nil, nil, false)
		}
	}
}

// TestSchedules: whatever happens, each closure is applied exactly once on each server. Of closures whose coordinator
// died nobody knows whether they were; they count once at most.
func TestSchedules(t *testing.T) {
	all := 0
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newSimulation(t, seed, 1+int(seed%4), 1+int(seed%3))
			for n := range 20000 {
				if n%100 == 0 && n < 10000 {
					for range 1 + s.r.IntN(3) {
						_, err := s.d.Schedule(nil, -1)
						require.NoError(t, err)
					}
				}
				s.step(n < 12000)
			}
			for n := 0; !s.d.Idle(); n++ {
				require.Less(t, n, 1_000_000, "it does not end: %d wait, %d run", s.d.Waiting(), s.d.Running())
				s.step(false)
			}
			all += s.total
			for i := range s.servers {
				if s.down[i] {
					s.recoverServer(i)
				}
				got := int(s.servers[i].tables[0].values[0])
				if s.term == 1 {
					require.Equal(t, s.total, got, "server %d", i)
				}
				require.GreaterOrEqual(t, got, s.total)
				require.LessOrEqual(t, got, s.total+s.unknown)
				require.LessOrEqual(t, len(s.servers[i].ledger.applied), 300, "the ledger forgets")
			}
		})
	}
	require.Greater(t, all, 3000)
}

func TestDispatcherFailure(t *testing.T) {
	d := NewDispatcher(1, 1)
	a, b := Worker{0, 1}, Worker{1, 1}
	d.Joined(a)
	d.Joined(b)
	for range 4 {
		_, err := d.Schedule(nil, -1)
		require.NoError(t, err)
	}
	first, ok := d.Next(a)
	require.True(t, ok)
	_, ok = d.Next(a)
	require.False(t, ok, "it has one")
	second, ok := d.Next(b)
	require.True(t, ok)
	bad := errors.New("bad")
	require.True(t, d.Result(a, first.Closure.Sequence, nil, bad, false))
	require.NoError(t, d.Fault(), "the other one still runs")
	_, ok = d.Next(a)
	require.False(t, ok, "nothing starts")
	require.True(t, d.Result(b, second.Closure.Sequence, []byte("x"), nil, false))
	var cancelled int
	for _, o := range d.Ended() {
		if errors.Is(o.Err, ErrCancelled) {
			require.ErrorContains(t, o.Err, "bad")
			cancelled++
		}
	}
	require.Equal(t, 2, cancelled)
	require.ErrorIs(t, d.Fault(), bad)
	require.NoError(t, d.Fault(), "once")
	_, err := d.Schedule(nil, 1)
	require.NoError(t, err)
	_, ok = d.Next(a)
	require.False(t, ok, "it is for the other worker")
	third, ok := d.Next(b)
	require.True(t, ok)
	require.Equal(t, uint64(5), third.Low)
	d.Lost(b)
	require.Equal(t, 1, d.Waiting())
	require.True(t, d.Result(b, third.Closure.Sequence, nil, nil, false), "it lived after all")
	require.True(t, d.Idle())
	require.Zero(t, d.Waiting())
}
