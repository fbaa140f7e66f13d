package protocol

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A simulated job with two copies of each group: servers die and come back empty, views arrive late or not at all,
// coordinators are replaced, and living servers are taken for dead. What a client was told must be in the state of the
// present primary, once.
type replicaSimulation struct {
	t       *testing.T
	r       *rand.Rand
	n       int
	process uint64
	term    uint64
	servers []*replicaServer // nil: down
	arbiter *Arbiter
	acked   []int    // closures of each group that were acknowledged
	pending []uint64 // closure of each group that is being repeated; 0: none
	next    uint64
	events  map[string]int
	last    []*Report
	late    []func() // messages that come late, or once more
}

type replicaServer struct {
	process uint64
	copies  map[int]*Replica
	views   []View
	owed    map[int]*owed // of the groups that it is primary of
}

// owed is a command that the primary has executed and the backup perhaps not.
type owed struct {
	position uint64
	bytes    []byte
}

func newReplicaSimulation(t *testing.T, seed uint64, n int) *replicaSimulation {
	s := &replicaSimulation{t: t, r: rand.New(rand.NewPCG(seed, 7)), n: n, servers: make([]*replicaServer, n), acked: make([]int, n), pending: make([]uint64, n), events: map[string]int{}, last: make([]*Report, n)}
	for i := range n {
		s.start(i)
	}
	s.coordinate()
	s.publish(1)
	for g := range n {
		for tries := 0; !s.command(g, &Take{Term: s.term}) || !s.command(g, &Create{Term: s.term, Definition: Definition{Name: "v", Rows: 1, Width: 1}}); tries++ {
			require.Less(t, tries, 200)
			s.publish(1)
		}
	}
	return s
}

func (s *replicaSimulation) start(i int) {
	s.process++
	server := &replicaServer{process: s.process, copies: map[int]*Replica{}, views: make([]View, s.n), owed: map[int]*owed{}}
	for _, g := range []int{i, (i + s.n - 1) % s.n} {
		server.copies[g] = NewReplica(Holder{i, s.process}, Limits{})
	}
	s.servers[i] = server
}

// reports of the living servers; some seem to be lost.
func (s *replicaSimulation) reports(missed float64) []*Report {
	out := make([]*Report, s.n)
	for i, server := range s.servers {
		if server == nil || s.r.Float64() < missed {
			continue
		}
		r := &Report{Process: server.process, Views: slices.Clone(server.views), Held: make([]bool, s.n)}
		for g, c := range server.copies {
			r.Held[g] = c.Complete() && c.View() == server.views[g]
		}
		if old := s.last[i]; missed > 0 && old != nil && old.Process == r.Process && s.r.Float64() < 0.3 {
			r = old // it comes late
		}
		out[i], s.last[i] = r, r
	}
	return out
}

// coordinate begins a term. At first some servers may be out of reach, so that the coordinator knows old views only.
func (s *replicaSimulation) coordinate() {
	s.term++
	reports := s.reports(0)
	if s.arbiter != nil {
		for i := range reports {
			if s.r.Float64() < 0.2 {
				reports[i] = nil
			}
		}
	}
	a, err := NewArbiter(s.term, 77, reports)
	if err != nil { // too little is known; it waits for all
		a, err = NewArbiter(s.term, 77, s.reports(0))
	}
	require.NoError(s.t, err)
	s.arbiter = a
}

// delay lets a message to a living server come later, or again.
func (s *replicaSimulation) delay(p float64, to *replicaServer, message func()) {
	if s.r.Float64() >= p {
		return
	}
	s.late = append(s.late, func() {
		if slices.Contains(s.servers, to) {
			message()
		}
	})
}

// deliver lets one of the late messages come.
func (s *replicaSimulation) deliver() {
	if n := len(s.late); n > 0 {
		i := s.r.IntN(n)
		message := s.late[i]
		s.late = slices.Delete(s.late, i, i+1)
		message()
		s.events["late"]++
	}
}

// publish gives views to servers, each with some probability.
func (s *replicaSimulation) publish(p float64) {
	for _, server := range s.servers {
		if server == nil || s.r.Float64() >= p {
			continue
		}
		views := slices.Clone(s.arbiter.Views())
		give := func() {
			for g, v := range views {
				if c := server.copies[g]; c != nil {
					c.Adopt(v)
					server.views[g] = c.View()
				} else if v.Newer(server.views[g]) {
					server.views[g] = v
				}
			}
		}
		give()
		s.delay(0.1, server, give)
	}
}

// settle brings what a primary owes to its backup, and reports whether it may acknowledge.
func (s *replicaSimulation) settle(g int, server *replicaServer) bool {
	c := server.copies[g]
	v := c.View()
	if c.Serves(v) != nil {
		return false
	}
	if v.Backup == Nobody {
		delete(server.owed, g)
		return true
	}
	other := s.servers[v.Backup.Server]
	if other == nil || other.process != v.Backup.Process || s.r.Float64() < 0.1 {
		return false
	}
	b := other.copies[g]
	if c.Lags() {
		var w Writer
		c.State().EncodeSnapshot(&w)
		position := c.Position()
		restore := func() error {
			state, err := DecodeSnapshot(w.B, Limits{})
			require.NoError(s.t, err)
			return b.Restore(v, position, state)
		}
		s.delay(0.3, other, func() { _ = restore() }) // it may belong to an old view
		if restore() != nil {
			return false
		}
		s.events["restored"]++
		if s.r.Float64() < 0.3 {
			s.delay(0.5, server, func() { c.Confirm(v) })
			return false // the answer is late, or lost
		}
		c.Confirm(v)
		delete(server.owed, g)
		return true
	}
	o := server.owed[g]
	if o == nil {
		return true
	}
	command, err := DecodeCommand(o.bytes)
	require.NoError(s.t, err)
	s.delay(0.1, other, func() { _ = b.Accept(v, o.position, command) }) // it may belong to an old view
	if err := b.Accept(v, o.position, command); err != nil {
		require.ErrorIs(s.t, err, ErrView)
		return false
	}
	if s.r.Float64() < 0.2 {
		return false // the answer is lost
	}
	delete(server.owed, g)
	return true
}

// command does what a primary does, and reports whether it was acknowledged.
func (s *replicaSimulation) command(g int, command Command) bool {
	at := s.arbiter.Views()[g].Primary.Server
	if s.r.Float64() < 0.1 {
		at = s.r.IntN(s.n) // a client with an old view
	}
	server := s.servers[at]
	if server == nil || server.copies[g] == nil {
		return false
	}
	c := server.copies[g]
	if c.Serves(c.View()) != nil || !s.settle(g, server) {
		return false
	}
	reply, err := c.State().Execute(command)
	if err != nil {
		require.ErrorIs(s.t, err, ErrStale)
		return command.kind() == takeKind && c.State().Term() == s.term
	}
	if !reply.Repeated {
		var w Writer
		EncodeCommand(&w, command)
		server.owed[g] = &owed{c.Advance(), w.B}
	}
	return s.settle(g, server) && s.r.Float64() < 0.9
}

// push repeats the closure of a group until it is acknowledged.
func (s *replicaSimulation) push(g int) {
	if s.pending[g] == 0 {
		s.next++
		s.pending[g] = s.next
	}
	if s.command(g, &Push{Closure: ClosureID{s.term, s.pending[g]}, Low: 1, Updates: []Update{{Table: 0, Op: Add, Values: []float32{1}}}}) {
		s.acked[g]++
		s.pending[g] = 0
		s.events["acked"]++
	}
}

// spare reports whether no copy but this server's is the last one of a group.
func (s *replicaSimulation) spare(i int) bool {
	for g := range s.n {
		others := 0
		v := s.arbiter.Views()[g]
		for j, server := range s.servers {
			if server == nil || j == i || server.copies[g] == nil {
				continue
			}
			c := server.copies[g]
			if c.Complete() && c.View() == v && (c.self == v.Primary || c.self == v.Backup) {
				others++
			}
		}
		if others == 0 {
			return false
		}
	}
	return true
}

func (s *replicaSimulation) check(g int) {
	v := s.arbiter.Views()[g]
	server := s.servers[v.Primary.Server]
	require.NotNil(s.t, server, "%v", v)
	c := server.copies[g]
	require.NoError(s.t, c.Serves(v))
	sum, err := c.State().Tables()[0].Read(nil, nil)
	require.NoError(s.t, err)
	most := s.acked[g]
	if s.pending[g] != 0 {
		most++
	}
	require.GreaterOrEqual(s.t, int(sum[0]), s.acked[g], "group %d: an acknowledged update is lost", g)
	require.LessOrEqual(s.t, int(sum[0]), most, "group %d: an update was made twice", g)
}

// TestReplicaSchedules plays random schedules: what was acknowledged is there, once, whoever dies as long as a copy is
// left.
func TestReplicaSchedules(t *testing.T) {
	all := map[string]int{}
	for seed := range uint64(300) {
		n := 2 + int(seed%3)
		s := newReplicaSimulation(t, seed, n)
		for range 400 {
			switch p := s.r.Float64(); {
			case p < 0.6:
				s.push(s.r.IntN(n))
			case p < 0.75:
				_, err := s.arbiter.Decide(s.reports(0.05))
				require.NoError(t, err)
			case p < 0.85:
				s.publish(0.7)
			case p < 0.9:
				s.deliver()
			case p < 0.94:
				if i := s.r.IntN(n); s.servers[i] != nil && s.spare(i) {
					s.servers[i] = nil
					s.events["killed"]++
				}
			case p < 0.98:
				if i := s.r.IntN(n); s.servers[i] == nil {
					s.start(i)
				}
			default:
				s.coordinate()
				s.publish(1)
				s.restart()
				s.events["coordinators"]++
			}
		}
		s.end()
		for k, v := range s.events {
			all[k] += v
		}
	}
	for _, k := range []string{"acked", "killed", "coordinators", "restored", "promoted", "late"} {
		require.Positive(t, all[k], "%v: the schedules prove nothing", all)
	}
}

// quiet lets views settle until each group has an answering primary.
func (s *replicaSimulation) quiet() {
	for range 20 {
		_, err := s.arbiter.Decide(s.reports(0))
		require.NoError(s.t, err)
		s.publish(1)
		for g := range s.n {
			if server := s.servers[s.arbiter.Views()[g].Primary.Server]; server != nil {
				s.settle(g, server)
			}
		}
	}
}

// restart is a new coordinator that takes the living servers' variables as they are: the closures of the one before are
// not repeated.
func (s *replicaSimulation) restart() {
	s.quiet()
	for g := range s.n {
		for tries := 0; !s.command(g, &Take{Term: s.term}); tries++ {
			require.Less(s.t, tries, 200, "group %d answers nobody", g)
			s.quiet()
		}
		s.check(g)
		v := s.arbiter.Views()[g]
		sum, err := s.servers[v.Primary.Server].copies[g].State().Tables()[0].Read(nil, nil)
		require.NoError(s.t, err)
		s.acked[g], s.pending[g] = int(sum[0]), 0
	}
	s.next = 0
}

func (s *replicaSimulation) end() {
	s.quiet()
	for g := range s.n {
		if s.arbiter.Views()[g].Primary.Server != g {
			s.events["promoted"]++
		}
		s.check(g)
	}
}

// TestReplicaRefusals: who is behind does not answer, and commands of others are refused.
func TestReplicaRefusals(t *testing.T) {
	one, two := Holder{0, 1}, Holder{1, 2}
	p, b := NewReplica(one, Limits{}), NewReplica(two, Limits{})
	first := View{Term: 1, Number: 1, Turn: 1, Lineage: 9, Primary: one, Backup: two, Fresh: true}
	require.ErrorIs(t, p.Serves(View{}), ErrView)
	require.True(t, p.Adopt(first))
	require.False(t, p.Adopt(first))
	require.NoError(t, p.Serves(first))
	require.ErrorIs(t, p.Serves(View{Term: 2}), ErrView, "it has not heard of this view")
	require.ErrorIs(t, b.Accept(first, 1, &Take{Term: 1}), ErrView)
	b.Adopt(first)
	_, err := p.State().Execute(&Take{Term: 1})
	require.NoError(t, err)
	require.NoError(t, b.Accept(first, p.Advance(), &Take{Term: 1}))
	require.NoError(t, b.Accept(first, 1, &Take{Term: 1}), "once more")
	require.ErrorContains(t, b.Accept(first, 3, &Take{Term: 2}), "command 3 comes after command 1")
	require.ErrorContains(t, b.Accept(first, 2, &Take{Term: 1}), "the backup cannot do what its primary did")
	alone := View{Term: 1, Number: 2, Turn: 2, Lineage: 9, Primary: two, Backup: Nobody}
	require.True(t, b.Adopt(alone))
	require.NoError(t, b.Serves(alone))
	require.ErrorIs(t, b.Accept(first, 2, &Take{Term: 2}), ErrView, "the old primary does not know that it is none")
	require.False(t, b.Adopt(View{Term: 2, Number: 1, Turn: 1, Lineage: 9, Primary: one, Backup: two}), "a coordinator that has not heard of the turn")
	require.True(t, p.Adopt(View{Term: 1, Number: 3, Turn: 3, Lineage: 9, Primary: two, Backup: one}))
	require.False(t, p.Complete(), "it may have executed what nobody was told of")
	require.Empty(t, p.State().Tables())
	require.Zero(t, p.State().Term(), "what it had is gone")
	require.Zero(t, p.Position())
	third := View{Term: 1, Number: 3, Turn: 3, Lineage: 9, Primary: two, Backup: one}
	require.ErrorIs(t, p.Accept(third, 1, &Take{Term: 9}), ErrView, "it waits for the whole state")
	require.True(t, b.Adopt(third))
	require.True(t, b.Lags())
	b.Confirm(alone)
	require.True(t, b.Lags(), "that was another backup")
	b.Confirm(third)
	require.False(t, b.Lags())
	require.True(t, b.Adopt(View{Term: 2, Number: 1, Turn: 3, Lineage: 9, Primary: two, Backup: one}))
	require.False(t, b.Lags(), "nobody else holds a copy")
	empty := NewReplica(one, Limits{})
	require.True(t, empty.Adopt(View{Term: 3, Number: 1, Turn: 4, Lineage: 9, Primary: one, Backup: Nobody}))
	require.ErrorIs(t, empty.Serves(View{}), ErrView, "it has nothing")
	require.True(t, b.Adopt(View{Term: 3, Number: 1, Turn: 4, Lineage: 11, Primary: two, Backup: Nobody}))
	require.False(t, b.Complete(), "what it has is of another job")
	require.Equal(t, third, Latest([]*Report{nil, {Views: []View{alone}}, {Views: []View{third}}, {Views: []View{first}}, {Views: []View{{Term: 2, Number: 1, Turn: 2}}}}, 0))
	require.Equal(t, View{Primary: Nobody, Backup: Nobody}, Latest([]*Report{{Views: make([]View, 1)}}, 0), "nobody has heard of a view")
	require.True(t, View{Term: 2, Number: 1, Turn: 3}.Newer(third))
	require.False(t, third.Newer(View{Term: 2, Number: 1, Turn: 3}))
	require.False(t, View{Term: 2, Number: 1, Turn: 2}.Newer(third), "its coordinator had not heard of the turn")

	_, err = NewArbiter(1, 5, []*Report{{Process: 1, Views: make([]View, 2), Held: make([]bool, 2)}, nil})
	require.ErrorContains(t, err, "when all of its servers are there")
	_, err = NewArbiter(1, 5, []*Report{{Process: 1, Views: []View{first, {}}, Held: make([]bool, 2)}, {Process: 2, Views: make([]View, 2), Held: make([]bool, 2)}})
	require.ErrorIs(t, err, ErrLost)
	var w Writer
	first.Encode(&w)
	var again View
	r := NewReader(w.B)
	again.Decode(r)
	require.NoError(t, r.End())
	require.Equal(t, first, again)
}

// TestReplicasReplaced: where both holders of a copy have come back empty nothing is left.
func TestReplicasReplaced(t *testing.T) {
	empty := func(process uint64) *Report {
		return &Report{Process: process, Views: make([]View, 2), Held: make([]bool, 2)}
	}
	a, err := NewArbiter(1, 5, []*Report{empty(1), empty(2)})
	require.NoError(t, err)
	_, err = a.Decide([]*Report{empty(8), nil})
	require.NoError(t, err, "the other one may be there still")
	_, err = a.Decide([]*Report{empty(8), empty(9)})
	require.ErrorIs(t, err, ErrLost)
}

// TestReplicaLateReport: a report from before a copy was complete is no reason to give up; one from after the primary's
// death is.
func TestReplicaLateReport(t *testing.T) {
	report := func(process uint64, views []View, held bool) *Report {
		return &Report{Process: process, Views: slices.Clone(views), Held: []bool{held, held}}
	}
	for _, complete := range []bool{true, false} {
		a, err := NewArbiter(1, 5, []*Report{report(1, make([]View, 2), false), report(2, make([]View, 2), false)})
		require.NoError(t, err)
		changed, err := a.Decide([]*Report{report(9, a.Views(), false), report(2, a.Views(), false)})
		require.NoError(t, err)
		require.True(t, changed)
		require.Equal(t, Holder{0, 1}, a.Views()[0].Primary)
		require.EqualValues(t, 1, a.Views()[0].Turn, "the backup keeps what it has")
		_, err = a.Decide([]*Report{report(9, a.Views(), false), report(2, a.Views(), complete)})
		if !complete {
			require.ErrorIs(t, err, ErrLost)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, Holder{1, 2}, a.Views()[0].Primary)
		require.Equal(t, Nobody, a.Views()[0].Backup, "the one that died is asked for nothing")
	}
}

// TestReplicaLateTurn: a coordinator that has made views of its own before it hears of a later turn, of the coordinator
// before it, takes over its holders in a view that everybody takes for the latest. What another job reports is nothing
// to it.
func TestReplicaLateTurn(t *testing.T) {
	one, two := Holder{0, 1}, Holder{1, 2}
	old := View{Term: 1, Number: 2, Turn: 2, Lineage: 9, Primary: one, Backup: Nobody}
	both := func(v View) []View { return []View{v, v} }
	report := func(h Holder, v View, held bool) *Report {
		return &Report{Process: h.Process, Views: both(v), Held: []bool{held, held}}
	}
	a, err := NewArbiter(2, 5, []*Report{report(one, old, true), nil})
	require.NoError(t, err)
	for range 3 { // the second server comes, goes and comes: views of the new coordinator
		for _, second := range []*Report{report(two, old, false), nil} {
			_, err := a.Decide([]*Report{report(one, a.Views()[0], true), second})
			require.NoError(t, err)
		}
	}
	before := a.Views()[0]
	require.Equal(t, View{Term: 2, Number: 7, Turn: 8, Lineage: 9, Primary: one, Backup: Nobody}, before)

	foreign := View{Term: 1, Number: 3, Turn: 90, Lineage: 11, Primary: two, Backup: Nobody}
	_, err = a.Decide([]*Report{report(one, before, true), {Process: 2, Views: both(foreign), Held: []bool{true, true}}})
	require.NoError(t, err)
	require.Equal(t, one, a.Views()[0].Primary, "the copy is of another job")
	before = a.Views()[0]

	late := View{Term: 1, Number: 4, Turn: before.Turn + 1, Lineage: 9, Primary: two, Backup: Nobody}
	server := NewReplica(two, Limits{})
	server.Adopt(View{Term: 1, Number: 1, Turn: 1, Lineage: 9, Primary: one, Backup: two, Fresh: true})
	server.Adopt(late)
	require.True(t, server.Complete())
	changed, err := a.Decide([]*Report{nil, report(two, late, true)})
	require.NoError(t, err)
	require.True(t, changed)
	now := a.Views()[0]
	require.Equal(t, two, now.Primary)
	require.True(t, now.After(before), "%v: who knows the view before takes it", now)
	require.EqualValues(t, 2, now.Term)
	require.True(t, server.Adopt(now))
	require.NoError(t, server.Serves(now), "it has what the turn says")
}
