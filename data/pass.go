package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Pass is one pass of a Loader under the control of its consumer, for loops that keep a batch longer than one iteration
// or that continue a pass over the end of an epoch. Its methods must be called from one goroutine at a time.
type Pass struct {
	ctx    context.Context // of this pass alone: Start to Close
	loader *Loader
	memory *scratch
	cancel context.CancelFunc
	held   int
	grave  *grave // of what Place and Prepare were given
	err    error

	// Of a pass with a goroutine:
	ready   chan *buffer
	free    chan *buffer
	stopped chan struct{}

	step int // that is filled next, of a pass without one
}

// Start begins a pass. The caller must Close it.
func (l *Loader) Start(ctx context.Context, epoch int) *Pass { return l.StartAt(ctx, epoch, 0) }

// StartAt is Start at a later batch of the pass; skipping the batches before it costs nothing.
func (l *Loader) StartAt(ctx context.Context, epoch, batch int) *Pass {
	if l.err != nil {
		return &Pass{err: l.err}
	}
	p := &Pass{loader: l, memory: l.acquire(), grave: new(grave), step: batch}
	p.ctx, p.cancel = context.WithCancel(ctx)
	if l.direct {
		p.order(epoch)
		return p
	}
	p.ready, p.free, p.stopped = make(chan *buffer, l.buffers), make(chan *buffer, l.buffers), make(chan struct{})
	for _, b := range p.memory.buffers {
		p.free <- b
	}
	go p.fillAll(epoch, batch)
	return p
}

// order finds the order of the examples.
func (p *Pass) order(epoch int) {
	if m := p.memory; !m.ordered || m.epoch != epoch { // consumers that jump within a pass start it often
		p.loader.permute(m.order, epoch)
		m.epoch, m.ordered = epoch, true
	}
}

// fillAll runs in the pass's goroutine.
func (p *Pass) fillAll(epoch, first int) {
	defer close(p.stopped)
	defer close(p.ready)
	defer p.grave.bury()
	p.order(epoch)
	for step := first; step < p.loader.steps(); step++ {
		var b *buffer
		select { // one channel alone is cheaper to look at
		case b = <-p.free:
		default:
			select {
			case b = <-p.free:
			case <-p.ctx.Done():
				return
			}
		}
		p.fill(b, step)
		p.ready <- b // never blocks: as many places as buffers
	}
}

// fill puts the examples of a step into a buffer.
func (p *Pass) fill(b *buffer, step int) {
	l := p.loader
	lo := step * l.batchSize
	hi := min(lo+l.batchSize, l.source.n)
	b.current = &b.full
	if hi-lo < l.batchSize {
		b.current = &b.tail
	}
	if l.place != nil {
		l.place(b.current)
	}
	if l.shuffle {
		l.source.gather(p.memory.order[lo:hi], b.current)
	} else {
		l.source.gatherRange(lo, hi, b.current)
	}
	if l.prepare != nil {
		l.prepare(b.current)
	}
}

// fillNext fills a buffer for Next if there is no goroutine, and returns nil after the last one.
func (p *Pass) fillNext() *buffer {
	if p.step >= p.loader.steps() {
		return nil
	}
	b := p.memory.buffers[slices.IndexFunc(p.memory.buffers, func(b *buffer) bool { return !b.held })]
	if p.grave.died == nil {
		p.fillStep(b)
	}
	p.grave.rise()
	p.step++
	return b
}

// fillStep notes a panic.
func (p *Pass) fillStep(b *buffer) {
	defer p.grave.bury()
	p.fill(b, p.step)
}

// wait returns the next buffer that the goroutine has filled, nil after the last one and when the context ends.
func (p *Pass) wait() *buffer {
	select { // one channel alone is cheaper to look at
	case b := <-p.ready:
		return b
	default:
		select {
		case b := <-p.ready:
			return b
		case <-p.ctx.Done():
			return nil
		}
	}
}

// Next returns the next batch, io.EOF after the last one, or the context's error. The batch belongs to the caller until
// the caller gives it back with Done.
func (p *Pass) Next() (*Batch, error) {
	if p.err != nil {
		return nil, p.err
	}
	if p.err = canceled(p.ctx); p.err != nil {
		return nil, p.err
	}
	if p.held == len(p.memory.buffers) {
		return nil, fmt.Errorf("data: Next: all %d batches of the pass are in use; call Done, or ask for more with Buffers", p.held)
	}
	var b *buffer
	if p.ready == nil {
		b = p.fillNext()
	} else if b = p.wait(); b == nil {
		p.grave.rise()
	}
	if b == nil {
		if p.err = canceled(p.ctx); p.err == nil {
			p.err = io.EOF
		}
		return nil, p.err
	}
	b.held = true
	p.held++
	return b.current, nil
}

// Done gives a batch of Next back for reuse. A batch of another pass, or one already given back, is ignored.
func (p *Pass) Done(batch *Batch) {
	if p.held == 0 {
		return
	}
	for _, b := range p.memory.buffers {
		if b.held && b.current == batch {
			b.held = false
			p.held--
			if p.free != nil {
				p.free <- b // never blocks: as many places as buffers
			}
			return
		}
	}
}

// errClosed is what Next returns after Close.
var errClosed = errors.New("data: Next: the pass is closed")

// Close ends the pass and waits for its goroutine, if it has one. All its batches become invalid. Closing twice is
// allowed.
func (p *Pass) Close() {
	if p.cancel == nil {
		return
	}
	p.cancel()
	if p.stopped != nil {
		<-p.stopped
	}
	p.loader.release(p.memory)
	*p = Pass{err: errClosed}
}
