package parameterserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
)

// routes is a client's knowledge of which server answers for which group.
type routes struct {
	links []*link

	mu      sync.Mutex
	views   []protocol.View
	ends    []context.Context // of each view
	cancels []context.CancelFunc
	changes int
}

func newRoutes(links []*link) *routes {
	n := len(links)
	r := &routes{links: links, views: make([]protocol.View, n), ends: make([]context.Context, n), cancels: make([]context.CancelFunc, n)}
	for i := range r.ends {
		r.ends[i], r.cancels[i] = context.WithCancel(context.Background())
	}
	return r
}

// adopt accepts views that are later than the current ones.
func (r *routes) adopt(views []protocol.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for g, v := range views {
		if g < len(r.views) && v.Lineage != 0 && v.After(r.views[g]) {
			same := v.Primary == r.views[g].Primary
			r.views[g] = v
			r.changes++
			if !same { // calls to the old one are given up
				r.cancels[g]()
				r.ends[g], r.cancels[g] = context.WithCancel(context.Background())
			}
		}
	}
}

// known returns all views, and the number of changes so far.
func (r *routes) known() ([]protocol.View, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.views), r.changes
}

// of returns the view of a group, and a context that ends when another server answers for it.
func (r *routes) of(group int) (protocol.View, context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.views[group], r.ends[group]
}

// refresh asks the servers, with a short timeout, which views they know.
func (r *routes) refresh(ctx context.Context, s *settings) {
	ctx, cancel := context.WithTimeout(ctx, min(s.Deadline, 300*time.Millisecond))
	defer cancel()
	_, before := r.known()
	answers := make(chan bool, len(r.links))
	for _, l := range r.links {
		go func() {
			if a, err := l.attend(ctx, 0, nil); err == nil {
				r.adopt(a.Views)
			}
			answers <- true
		}()
	}
	for range r.links {
		select {
		case <-answers:
			if _, now := r.known(); now != before {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// attended is a server's answer to its coordinator.
type attended struct {
	protocol.Report
	term uint64
}

// attend sends a server the views, and asks what it has.
func (l *link) attend(ctx context.Context, term uint64, views []protocol.View) (*attended, error) {
	var w protocol.Writer
	w.Uint(term)
	encodeViews(&w, views)
	out, err := l.invoke(l.s.introduce(ctx), "Attend", w.B)
	if err != nil {
		return nil, err
	}
	if len(out) < headerBytes {
		return nil, fmt.Errorf("%w: an answer of %d bytes", protocol.ErrMessage, len(out))
	}
	r := protocol.NewReader(out)
	r.Skip(headerBytes)
	switch out[8] {
	case stale:
		return nil, fmt.Errorf("%w: %v: %s", protocol.ErrStale, l.member.Task, r.String())
	case refused:
		return nil, errors.New(r.String())
	}
	a := &attended{}
	a.Process, a.term = r.Uint(), r.Uint()
	a.Views = decodeViews(r)
	for range a.Views {
		a.Held = append(a.Held, r.Bool())
	}
	if err := r.End(); err != nil || len(a.Views) != len(l.s.servers) {
		return nil, fmt.Errorf("%w: views of %d groups: %w", protocol.ErrMessage, len(a.Views), err)
	}
	return a, nil
}

// watch decides, for a coordinator, which servers hold the copies.
type watch struct {
	s      *settings
	client *client
	term   uint64
	fail   func(error)
	tell   func()
	news   broadcast

	mu      sync.Mutex
	arbiter *protocol.Arbiter
	reports []*protocol.Report
	heard   []time.Time
}

// newWatch waits for the servers, and begins a term on them.
func newWatch(ctx context.Context, s *settings, c *client, lineage uint64) (*watch, error) {
	began := time.Now()
	w := &watch{s: s, client: c, reports: make([]*protocol.Report, len(c.links)), heard: make([]time.Time, len(c.links))}
	for {
		var mu sync.Mutex
		missing := 0
		var last error
		var wait sync.WaitGroup
		for i, l := range c.links {
			wait.Add(1)
			go func() {
				defer wait.Done()
				attempt, cancel := context.WithTimeout(ctx, s.Deadline)
				defer cancel()
				a, err := l.attend(attempt, 0, nil)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					l.renew(err)
					missing++
					last = fmt.Errorf("parameterserver: %v at %s: %s", l.member.Task, l.member.Address, status.Convert(err).Message())
					w.reports[i] = nil
					return
				}
				w.reports[i], w.heard[i], w.term = &a.Report, time.Now(), max(w.term, a.term)
			}()
		}
		wait.Wait()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		patient := missing > 0 && time.Since(began) < s.Deadline
		if !patient {
			term := nextTerm(w.term)
			a, err := protocol.NewArbiter(term, lineage, w.reports)
			if err == nil {
				w.arbiter, w.term = a, term
				break
			}
			if errors.Is(err, protocol.ErrLost) {
				return nil, fmt.Errorf("%w: %w", ErrStateLost, err)
			}
		}
		if time.Since(began) > s.JoinTimeout {
			return nil, last
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	c.routes.adopt(w.arbiter.Views())
	return w, nil
}

// follow attends to one server until ctx ends.
func (w *watch) follow(ctx context.Context, i int) {
	l := w.client.links[i]
	refusals := 0
	for ctx.Err() == nil {
		news := w.news.wait()
		w.mu.Lock()
		views := slices.Clone(w.arbiter.Views())
		w.mu.Unlock()
		attempt, cancel := context.WithTimeout(ctx, w.s.Deadline)
		a, err := l.attend(attempt, w.term, views)
		cancel()
		if ctx.Err() != nil {
			return
		}
		l.renew(err)
		if refusals++; err == nil || status.Code(err) != codes.Unavailable {
			refusals = 0
		}
		if errors.Is(err, protocol.ErrStale) {
			w.fail(overtaken(err))
			return
		}
		w.mu.Lock()
		if err == nil {
			w.reports[i], w.heard[i] = &a.Report, time.Now()
		} else if time.Since(w.heard[i]) > w.s.Deadline || refusals >= 5 {
			if w.reports[i] != nil {
				w.s.Observe(fmt.Sprintf("%v at %s is lost (%s); the other copy answers for it", l.member.Task, l.member.Address, status.Convert(err).Message()))
			}
			w.reports[i] = nil
		}
		changed, lost := w.arbiter.Decide(w.reports)
		now := slices.Clone(w.arbiter.Views())
		w.mu.Unlock()
		if lost != nil {
			w.fail(fmt.Errorf("%w: %w", ErrStateLost, lost))
			return
		}
		if changed {
			w.client.routes.adopt(now)
			w.news.tell()
			w.tell()
			continue
		}
		pause := w.s.beat()
		if refusals > 0 && refusals < 5 { // nobody listens: it is known soon
			pause = min(pause, 50*time.Millisecond)
		}
		select {
		case <-ctx.Done():
		case <-news:
		case <-time.After(pause):
		}
	}
}
