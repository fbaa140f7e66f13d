package protocol

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// roundSimulation is synchronous training: each closure reads a value from each server, at different times, and pushes
// what follows from all of them. Whoever dies meanwhile, the values end with the bits that they have without faults.
type roundSimulation struct {
	*simulation
	replicas, backups int
	round             uint64         // under way
	parts             map[uint64]int // of the round, by closure
	ended             map[int]bool   // parts
	settling          map[int]bool   // servers that have settled; nil: not yet
	settle            Settled
	runs              []map[ClosureID]*roundRun // by worker
	wire              []roundMessage
}

type roundRun struct {
	low    uint64
	call   Settled // Round, and the part alone
	values []float32
	read   map[int]bool
	acked  map[int]bool
}

type roundMessage struct {
	from    Worker // that pushes; the zero value: the coordinator settles
	closure ClosureID
	server  int
	command Command
	answer  bool
	err     error
}

func newRoundSimulation(t *testing.T, seed uint64, workers, servers, replicas, backups int) *roundSimulation {
	s := &roundSimulation{replicas: replicas, backups: backups, round: 1, runs: make([]map[ClosureID]*roundRun, workers)}
	s.simulation = newSimulation(t, seed, workers, servers)
	s.begin()
	return s
}

// begin schedules the closures of a round.
func (s *roundSimulation) begin() {
	s.parts, s.ended, s.settling = map[uint64]int{}, map[int]bool{}, nil
	for part := range s.replicas + s.backups {
		n, err := s.d.Schedule(Settled{s.round, []int{part}}, -1)
		require.NoError(s.t, err)
		s.parts[n] = part
	}
}

// gradient is what a closure computes.
func gradient(round uint64, part, server int, values []float32) float32 {
	g := float32(round) + 1.7*float32(part) + 0.3*float32(server)
	for i, v := range values {
		g += v * (0.01 + 0.02*float32(i))
	}
	return g / 16
}

// changes are what a closure pushes: a gradient of each server's value, and most closures also assign the value, before
// or after it in the message.
func changes(round uint64, part, server int, values []float32) []Update {
	g := gradient(round, part, server, values)
	out := []Update{{Op: Gradient, Rate: 0.5, Values: []float32{g}}}
	if kind := (int(round) + part + server) % 4; kind > 0 {
		out = slices.Insert(out, kind%2, Update{Op: Assign, Values: []float32{values[server]*0.9 + g}})
	}
	return out
}

// undisturbed is what rounds of all parts come to.
func undisturbed(t *testing.T, rounds uint64, servers, replicas int) []float32 {
	states, want := make([]*State, servers), make([]float32, servers)
	for i := range states {
		states[i] = started(t, simulated)
	}
	for round := uint64(1); round <= rounds; round++ {
		before := slices.Clone(want)
		for server, s := range states {
			assigned, sum := 0.0, float32(0)
			for part := range replicas {
				value := before[server] // of a part that assigns nothing
				for _, u := range changes(round, part, server, before) {
					if u.Op == Assign {
						value = u.Values[0]
					} else {
						sum += u.Values[0] * (1 / float32(replicas))
					}
				}
				assigned += float64(value)
			}
			execute(t, s, push(round, Update{Op: Assign, Values: []float32{float32(assigned / float64(replicas))}}, Update{Op: Gradient, Rate: 0.5, Values: []float32{sum}}))
			want[server] = s.tables[0].values[0]
		}
	}
	return want
}

// another is a coordinator that takes over, as the shell does it.
func (s *roundSimulation) another() {
	s.takeOver()
	all := make([]Settled, len(s.servers))
	for i, state := range s.servers {
		all[i] = state.Settled()
	}
	last, open := Unsettled(all)
	if open {
		for i := range s.servers {
			require.NoError(s.t, s.execute(i, &Settle{Term: s.term, Settled: last}))
		}
	}
	for i := range s.workers {
		if s.workers[i] != nil && s.r.IntN(2) == 0 {
			s.d.Joined(s.worker(i))
		}
	}
	s.round = last.Round + 1
	s.begin()
}

func (s *roundSimulation) post(m roundMessage) {
	if s.r.IntN(10) > 0 && len(s.wire) < 200 {
		s.wire = append(s.wire, m)
	}
	if s.r.IntN(20) == 0 {
		s.wire = append(s.wire, m)
	}
}

// advance lets one thing happen.
func (s *roundSimulation) advance(faults bool) {
	i := s.r.IntN(len(s.workers))
	switch n := s.r.IntN(100); {
	case n < 1 && faults && s.r.IntN(8) == 0:
		s.another()
	case n < 14: // workers and servers come and go
		s.step14(n, i, faults)
	case n < 30:
		if s.workers[i] == nil {
			return
		}
		if a, ok := s.d.Next(s.worker(i)); ok {
			s.runs[i][a.Closure] = &roundRun{low: a.Low, call: a.Call.(Settled), values: make([]float32, len(s.servers)), read: map[int]bool{}, acked: map[int]bool{}}
		}
	case n < 65:
		s.work(i)
	case n < 70 && s.settling != nil:
		for server := range s.servers {
			if !s.settling[server] {
				s.post(roundMessage{server: server, command: &Settle{Term: s.term, Settled: s.settle}})
			}
		}
	case len(s.wire) > 0:
		at := s.r.IntN(len(s.wire))
		m := s.wire[at]
		s.wire = slices.Delete(s.wire, at, at+1)
		s.arrive(m)
	}
	for _, o := range s.d.Ended() {
		require.NoError(s.t, o.Err)
		if part, of := s.parts[o.Sequence]; of && s.settling == nil {
			if s.ended[part] = true; len(s.ended) == s.replicas {
				s.settle, s.settling = Settled{s.round, slices.Sorted(maps.Keys(s.ended))}, map[int]bool{}
			}
		}
	}
}

// step14 is what also happens in asynchronous training.
func (s *roundSimulation) step14(n, i int, faults bool) {
	switch {
	case n < 3 && faults:
		if s.workers[i] != nil {
			s.d.Lost(s.worker(i))
			s.workers[i], s.runs[i] = nil, nil
		}
	case n < 4 && faults:
		s.d.Lost(s.worker(i))
	case n < 9:
		if s.workers[i] == nil {
			s.workers[i], s.runs[i] = map[ClosureID]*run{}, map[ClosureID]*roundRun{}
			s.numbers[i]++
		}
		s.d.Joined(s.worker(i))
	case n < 11 && faults:
		s.down[s.r.IntN(len(s.down))] = true
	default:
		if server := s.r.IntN(len(s.down)); s.down[server] {
			s.recoverServer(server)
		}
	}
}

// work lets a worker read one value, or push what it has computed.
func (s *roundSimulation) work(i int) {
	for id, run := range s.runs[i] {
		if len(run.read) < len(s.servers) {
			server := s.r.IntN(len(s.servers))
			if !s.down[server] && !run.read[server] {
				run.values[server], run.read[server] = s.servers[server].tables[0].values[0], true
			}
			return
		}
		for server := range s.servers {
			if !run.acked[server] {
				round, part := run.call.Round, run.call.Parts[0]
				s.post(roundMessage{from: s.worker(i), closure: id, server: server, command: &Push{Closure: id, Low: run.low, Round: round, Part: part,
					Updates: changes(round, part, server, run.values)}})
			}
		}
		return
	}
}

func (s *roundSimulation) arrive(m roundMessage) {
	if !m.answer {
		if s.down[m.server] {
			return
		}
		m.answer, m.err = true, s.execute(m.server, m.command)
		s.post(m)
		return
	}
	if settle, ok := m.command.(*Settle); ok {
		if settle.Term != s.term || s.settling == nil || settle.Round != s.round {
			return
		}
		require.NoError(s.t, m.err)
		if s.settling[m.server] = true; len(s.settling) == len(s.servers) {
			s.round++
			s.begin()
		}
		return
	}
	run := s.runs[m.from.Task][m.closure]
	if run == nil || m.from != s.worker(m.from.Task) {
		return
	}
	if m.err != nil {
		require.ErrorIs(s.t, m.err, ErrStale)
	} else if run.acked[m.server] = true; len(run.acked) < len(s.servers) {
		return
	}
	delete(s.runs[m.from.Task], m.closure)
	if m.closure.Term == s.term {
		s.d.Result(m.from, m.closure.Sequence, nil, nil, false)
	}
}

// TestRoundSchedules: rounds end with the bits of an undisturbed run, whatever is lost, repeated or dies; also over a
// change of coordinators.
func TestRoundSchedules(t *testing.T) {
	all := 0
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			servers, replicas := 1+int(seed%3), 1+int(seed%4)
			s := newRoundSimulation(t, seed, 1+int(seed%4), servers, replicas, 0)
			for range 15000 {
				s.advance(true)
			}
			for n, end := 0, s.round+1; s.round < end; n++ {
				require.Less(t, n, 100_000, "it does not end: round %d", s.round)
				s.advance(false)
			}
			all += int(s.round) - 1
			for i := range servers {
				if s.down[i] {
					s.recoverServer(i)
				}
			}
			want := undisturbed(t, s.round-1, servers, replicas)
			for i, state := range s.servers {
				require.Equal(t, want[i], state.tables[0].values[0], "server %d after %d rounds", i, s.round-1)
			}
		})
	}
	require.Greater(t, all, 1000)
}

// TestRoundSchedulesBackups: of more closures than needed the same parts count on all servers.
func TestRoundSchedulesBackups(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newRoundSimulation(t, seed, 3, 3, 2, 2)
			for range 10000 {
				s.advance(true)
			}
			for n, end := 0, s.round+1; s.round < end; n++ {
				require.Less(t, n, 100_000, "it does not end: round %d", s.round)
				s.advance(false)
			}
			for i := range s.servers {
				if s.down[i] {
					s.recoverServer(i)
				}
				require.Equal(t, s.servers[0].Settled(), s.servers[i].Settled())
				require.Len(t, s.servers[i].Settled().Parts, 2)
			}
		})
	}
}

func TestUnsettled(t *testing.T) {
	a, b := Settled{3, []int{0}}, Settled{4, []int{1}}
	for _, one := range []struct {
		all  []Settled
		last Settled
		open bool
	}{{[]Settled{a}, a, false}, {[]Settled{a, a}, a, false}, {[]Settled{a, b}, b, true}, {[]Settled{b, a, a}, b, true}, {[]Settled{b, b}, b, false}, {[]Settled{{}, {}}, Settled{}, false}} {
		last, open := Unsettled(one.all)
		require.Equal(t, one.last, last)
		require.Equal(t, one.open, open)
	}
}
