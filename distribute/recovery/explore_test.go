package recovery

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// move is one thing that can happen next in a world.
type move struct {
	what   string
	happen func(s *sim)
}

// moves lists all that can happen next. All workers wait for something.
func (s *sim) moves() (list []move) {
	add := func(happen func(s *sim), format string, args ...any) {
		list = append(list, move{fmt.Sprintf(format, args...), happen})
	}
	ready, door, members := !s.broken, false, []int{}
	for i := range s.p.workers {
		w := &s.w[i]
		switch {
		case !w.here:
			add(func(s *sim) { s.start(i) }, "worker %d comes as a new process", i)
		case w.away:
			add(func(s *sim) { s.w[i].away = false }, "worker %d is there again", i)
		case w.waits():
			door = true
		}
		if s.member[i] {
			members = append(members, i)
			ready = ready && w.wait == forCall
		}
	}
	switch {
	case door && s.left:
		add((*sim).turnAway, "the others have left")
	case door && s.mayForm():
		add((*sim).form, "a group forms")
	}
	if !ready || len(members) == 0 {
		return list
	}
	c := s.call(members[0])
	all := uint(1)<<s.p.workers - 1
	add(func(s *sim) { s.complete(all, false) }, "%v is complete", c)
	if c.action == Agree && door {
		add(func(s *sim) { s.complete(all, true) }, "%v is complete, and workers wait", c)
	}
	if s.faults > 0 {
		list = append(list, s.breaks(c, members)...)
	}
	return list
}

// mayForm reports whether there is no group, and all that are there wait for one.
func (s *sim) mayForm() bool {
	for i := range s.p.workers {
		w := &s.w[i]
		if w.here && !w.away && !w.ended && !w.waits() {
			return false
		}
	}
	return true
}

func (s *sim) turnAway() {
	for i := range s.p.workers {
		if w := &s.w[i]; w.waits() && (w.spot == atMeeting || w.m.Action() == Rejoin) {
			w.ended = true
		} else if w.waits() {
			s.apply(i, Event{Outcome: Left})
			s.run(i)
		}
	}
}

// breaks lists how the group can end in a collective: which members complete it, and which one of them, or none, dies
// or is left out.
func (s *sim) breaks(c call, members []int) (list []move) {
	for whole := range uint(1) << len(members) {
		mask := uint(0)
		for k, i := range members {
			mask |= whole >> k & 1 << i
		}
		strike := func(s *sim) {
			s.faults--
			s.broken = true
			s.complete(mask, false)
		}
		list = append(list, move{fmt.Sprintf("%v is complete on %b", c, mask), strike})
		for _, i := range members {
			list = append(list, move{fmt.Sprintf("%v is complete on %b, worker %d is left out", c, mask, i), func(s *sim) {
				strike(s)
				s.w[i].away = true
			}})
			if mask>>i&1 == 0 {
				list = append(list, move{fmt.Sprintf("%v is complete on %b, worker %d dies", c, mask, i), func(s *sim) {
					strike(s)
					s.w[i] = worker{}
				}})
			}
		}
	}
	return list
}

// over checks a world in which nothing can happen any more.
func (s *sim) over() error {
	for i := range s.p.workers {
		w := &s.w[i]
		switch {
		case !w.ended:
			return fmt.Errorf("worker %d waits forever", i)
		case w.spot == atEnd && w.weights != len(s.p.plan):
			return fmt.Errorf("worker %d has come to the end with %d of %d batches", i, w.weights, len(s.p.plan))
		}
	}
	if !s.left {
		return fmt.Errorf("nobody has come to the end")
	}
	return nil
}

// explore goes through all that can happen from a world on, each world once.
func (s *sim) explore(seed maphash.Seed, seen map[uint64]struct{}) error {
	list := s.moves()
	if len(list) == 0 {
		return s.over()
	}
	for _, m := range list {
		next := &sim{world: s.world, p: s.p, story: append(s.story[:len(s.story):len(s.story)], m.what)}
		m.happen(next)
		if next.err == nil {
			key := maphash.Comparable(seed, next.world)
			if _, known := seen[key]; known {
				continue
			}
			seen[key] = struct{}{}
			next.err = next.explore(seed, seen)
			s.err = next.err
		}
		if next.err != nil {
			if s.err = next.err; len(s.story) < len(next.story) {
				s.story = next.story
			}
			return s.err
		}
	}
	return nil
}

func (s *sim) describe() string {
	text := strings.Join(s.story, "\n")
	for i := range s.p.workers {
		text += fmt.Sprintf("\nworker %d: %+v", i, s.w[i])
	}
	return text
}

// Whatever happens in a small job, in whatever order: all workers make the same calls in the same place with the same
// weights, no batch is trained twice or left out, nobody waits forever, and who comes to the end has trained all.
func TestEveryOrder(t *testing.T) {
	for name, c := range map[string]struct {
		program
		faults int
	}{
		"two workers, two faults": {program{workers: 2, fits: 2, epochs: 2, steps: 2, execution: 1, asides: 2}, 2},
		"executions":              {program{workers: 2, fits: 1, epochs: 2, steps: 5, execution: 3}, 2},
		"stopped":                 {program{workers: 2, fits: 2, epochs: 2, steps: 4, execution: 2, asides: 1, stop: batch{1, 0, 1}}, 2},
		"three workers":           {program{workers: 3, fits: 2, epochs: 1, steps: 2, execution: 1, asides: 1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				c.faults = 1
			}
			s := newSim(c.planned(), c.faults)
			seen := map[uint64]struct{}{}
			require.NoError(t, s.explore(maphash.MakeSeed(), seen), "%s", s.describe())
			require.Greater(t, len(seen), 1000)
		})
	}
}

// The same for larger jobs with many faults, along random paths.
func TestRandomOrders(t *testing.T) {
	paths := uint64(4000)
	if testing.Short() {
		paths = 800
	}
	for seed := range paths {
		r := rand.New(rand.NewPCG(seed, 5))
		p := program{workers: 2 + r.IntN(most-1), fits: 1 + r.IntN(3), epochs: 1 + r.IntN(3), steps: 1 + r.IntN(5), execution: 1 + r.IntN(3), asides: r.IntN(3)}
		if r.IntN(3) == 0 {
			p.stop = batch{1 + r.IntN(p.fits), r.IntN(p.epochs), r.IntN(p.steps)}
		}
		s := newSim(p.planned(), r.IntN(12))
		for s.err == nil {
			list := s.moves()
			if len(list) == 0 {
				s.err = s.over()
				break
			}
			m := list[r.IntN(len(list))]
			if s.faults > 0 && r.IntN(4) > 0 { // else faults follow each other at once
				m = list[r.IntN(min(len(list), 3))]
			}
			s.logf("%s", m.what)
			m.happen(s)
		}
		require.NoError(t, s.err, "path %d of %+v\n%s", seed, p, s.describe())
	}
}
