// Package tracing records the events of a run, for pictures of a few training steps. The run's context carries a [Slot]
// to all code involved; at most one recorder is active in it. Without one, instrumented code pays only for a lookup in
// the context.
//
// The format is Chrome's trace event format ("Trace Event Format", Google, 2016), which chrome://tracing and
// ui.perfetto.dev show: complete events (ph "X") for what a goroutine does from begin to end, and asynchronous pairs
// (ph "b" and "e", joined by cat and id) for what goes on beside it. Times are in microseconds.
package tracing

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// The lanes of a trace. Each is a row in the picture.
const (
	Loop    = 0 // the training loop
	Network = 1 // what passes between processes
	first   = 2
	beside  = 1 << 16
)

// Replica is the lane of a replica.
func Replica(id int) int { return first + id }

// Collectives is the lane of what a replica's device exchanges with others while it continues to compute.
func Collectives(id int) int { return beside + id }

// Recorder collects events, up to a limit.
type Recorder struct {
	slot  *Slot
	begin time.Time
	limit int

	mu      sync.Mutex
	events  []event
	dropped int
	pairs   int
}

type event struct {
	phase          byte // 'X', 'b' or 'e'
	lane           int
	category, name string
	scope          string
	id             int
	bytes          int64
	at, length     time.Duration
}

// Slot holds the recorder of one run. The run's context carries it to all code that takes part.
type Slot struct{ active atomic.Pointer[Recorder] }

type slotKey struct{}

// Context returns a context with a slot, which is that of ctx if it has one.
func Context(ctx context.Context) (context.Context, *Slot) {
	if s := SlotOf(ctx); s != nil {
		return ctx, s
	}
	s := &Slot{}
	return context.WithValue(ctx, slotKey{}, s), s
}

// SlotOf returns the slot that the context carries, or nil.
func SlotOf(ctx context.Context) *Slot {
	s, _ := ctx.Value(slotKey{}).(*Slot)
	return s
}

// recorders counts the active recorders in the process. Usually there are none, and code need not search its context.
var recorders atomic.Int32

// Active returns the recorder to report to under the context, or nil.
func Active(ctx context.Context) *Recorder {
	if recorders.Load() == 0 {
		return nil
	}
	return SlotOf(ctx).Active()
}

// Active returns the recorder to report to, or nil; a nil slot has none.
func (s *Slot) Active() *Recorder {
	if s == nil {
		return nil
	}
	return s.active.Load()
}

// ErrActive is returned by Start if the slot already has a recorder.
var ErrActive = errors.New("another trace of this run is being recorded; wait for it to end")

// Start makes a recorder of at most limit events active.
func (s *Slot) Start(limit int) (*Recorder, error) {
	r := &Recorder{slot: s, begin: time.Now(), limit: limit, events: make([]event, 0, min(limit, 1<<12))}
	if !s.active.CompareAndSwap(nil, r) {
		return nil, ErrActive
	}
	recorders.Add(1)
	return r, nil
}

// Stop ends the recording. It may be called twice.
func (r *Recorder) Stop() {
	if r.slot.active.CompareAndSwap(r, nil) {
		recorders.Add(-1)
	}
}

func (r *Recorder) add(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) >= r.limit {
		r.dropped++
		return
	}
	r.events = append(r.events, e)
}

// Span records that something took from begin until now. scope, which may be empty, is the layer; bytes is the number
// of bytes moved, or 0. A nil recorder does nothing.
func (r *Recorder) Span(lane int, category, name, scope string, bytes int64, begin time.Time) {
	if r == nil {
		return
	}
	r.At(lane, category, name, scope, bytes, begin, time.Since(begin))
}

// At records that something took some time from begin on; see Span.
func (r *Recorder) At(lane int, category, name, scope string, bytes int64, begin time.Time, length time.Duration) {
	if r != nil {
		r.add(event{phase: 'X', lane: lane, category: category, name: name, scope: scope, bytes: bytes, at: begin.Sub(r.begin), length: length})
	}
}

// Pair returns a number that joins the two ends of an asynchronous event.
func (r *Recorder) Pair() int {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pairs++
	return r.pairs
}

// Begin and End record the two ends.
func (r *Recorder) Begin(lane int, category, name, scope string, bytes int64, pair int) {
	r.end('b', lane, category, name, scope, bytes, pair)
}

// End is the other end of Begin.
func (r *Recorder) End(lane int, category, name, scope string, pair int) {
	r.end('e', lane, category, name, scope, 0, pair)
}

func (r *Recorder) end(phase byte, lane int, category, name, scope string, bytes int64, pair int) {
	if r == nil {
		return
	}
	r.add(event{phase: phase, lane: lane, category: category, name: name, scope: scope, bytes: bytes, id: pair, at: time.Since(r.begin)})
}

// written is an event in the file.
type written struct {
	Name      string         `json:"name"`
	Category  string         `json:"cat,omitempty"`
	Phase     string         `json:"ph"`
	Time      float64        `json:"ts"`
	Duration  *float64       `json:"dur,omitempty"`
	Process   int            `json:"pid"`
	Lane      int            `json:"tid"`
	ID        string         `json:"id,omitempty"`
	Arguments map[string]any `json:"args,omitempty"`
}

// Write writes the events; process is the number of this process among several, from 0.
func (r *Recorder) Write(w io.Writer, process int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := bufio.NewWriter(w)
	if _, err := out.WriteString("{\"displayTimeUnit\": \"ms\", \"otherData\": {\"dropped_events\": " + strconv.Itoa(r.dropped) + "}, \"traceEvents\": [\n"); err != nil {
		return err
	}
	separator := ""
	write := func(e written) error {
		e.Process = process
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if _, err := out.WriteString(separator); err != nil {
			return err
		}
		separator = ",\n"
		_, err = out.Write(text)
		return err
	}
	lanes := map[int]bool{}
	for _, e := range r.events {
		lanes[e.lane] = true
	}
	for _, lane := range slices.Sorted(maps.Keys(lanes)) {
		if err := write(written{Name: "thread_name", Phase: "M", Lane: lane, Arguments: map[string]any{"name": laneName(lane)}}); err != nil {
			return err
		}
		if err := write(written{Name: "thread_sort_index", Phase: "M", Lane: lane, Arguments: map[string]any{"sort_index": lane}}); err != nil {
			return err
		}
	}
	for _, e := range r.events {
		if err := write(e.written()); err != nil {
			return err
		}
	}
	if _, err := out.WriteString("\n]}\n"); err != nil {
		return err
	}
	return out.Flush()
}

func laneName(lane int) string {
	switch lane {
	case Loop:
		return "training loop"
	case Network:
		return "network"
	}
	if lane >= beside {
		return "collectives of replica " + strconv.Itoa(lane-beside)
	}
	return "replica " + strconv.Itoa(lane-first)
}

func (e *event) written() written {
	micro := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	out := written{Name: e.name, Category: e.category, Phase: string(e.phase), Time: micro(e.at), Lane: e.lane}
	if e.phase == 'X' {
		d := micro(e.length)
		out.Duration = &d
	} else {
		out.ID = strconv.Itoa(e.id)
	}
	if e.scope != "" || e.bytes > 0 {
		out.Arguments = map[string]any{}
		if e.scope != "" {
			out.Arguments["layer"] = e.scope
		}
		if e.bytes > 0 {
			out.Arguments["bytes"] = e.bytes
		}
	}
	return out
}
