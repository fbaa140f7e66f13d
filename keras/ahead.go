package keras

import (
	"sync"
	"sync/atomic"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
)

// ahead is the work that the goroutine which fills batches does for the next step while the current one runs: it checks
// for NaN, and writes the batch to the memory that a device copies from.
type ahead struct {
	look atomic.Bool // check for NaN
	to   atomic.Pointer[[]*staging]

	lends bool // batches may be stored in that memory, since nobody reads them after they are sent. It is set between passes.

	mu      sync.Mutex
	batches []*preparedBatch
}

// preparedBatch is what is known about a batch and what has been done for it. The goroutine that fills the batch writes
// it before it hands the batch on; the goroutine that uses the batch reads it afterwards.
type preparedBatch struct {
	batch  *data.Batch
	clean  bool     // no array has a NaN
	to     *staging // nil if nothing is staged
	staged []kernels.Staged
	placed *staging // the staging whose memory holds the batch; nil: the batch's own memory
	own    [][]byte // each column's own memory while the batch is stored elsewhere; nil: it has not moved
}

// staging says where the parts of a batch go: to the inputs of one instance of a function.
type staging struct {
	inst    *distribute.Instance
	columns []stagedColumn
	inputs  [][]kernels.Stager // by replica and column
	sizes   []int              // number of examples on each replica
	skip    int                // number of examples before them
	rows    int
	whole   bool // each array goes to one place as a whole
}

// stagedColumn is one array of a batch: an input, target or weight.
type stagedColumn struct {
	column
	kind, index int
}

// components returns the inputs, targets and weights of a batch.
func components(b *data.Batch) [3]*data.Tensors { return [3]*data.Tensors{&b.X, &b.Y, &b.SampleWeight} }

// of returns the entry of a batch, or nil.
func (a *ahead) of(b *data.Batch) *preparedBatch {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.batches {
		if p.batch == b {
			return p
		}
	}
	return nil
}

// entry returns the entry of a batch, which it creates if there is none.
func (a *ahead) entry(b *data.Batch) *preparedBatch {
	p := a.of(b)
	if p == nil {
		p = &preparedBatch{batch: b}
		a.mu.Lock()
		a.batches = append(a.batches, p)
		a.mu.Unlock()
	}
	return p
}

// prepare is called with each batch after it was filled.
func (a *ahead) prepare(b *data.Batch) {
	p := a.entry(b)
	p.clean = a.look.Load() && isClean(b)
	if p.placed != nil {
		p.complete()
		return
	}
	p.drop() // parts that nobody took
	if to := a.stagingFor(func(s *staging) bool { return s.fits(b) }); to != nil {
		p.stage(to)
	}
}

// mostStagings is the number of instances that batches are staged for: those for full batches and for shorter last
// ones.
const mostStagings = 4

// stagingFor returns the newest staging that is wanted, or nil.
func (a *ahead) stagingFor(wanted func(*staging) bool) *staging {
	if list := a.to.Load(); list != nil {
		for _, s := range *list {
			if wanted(s) {
				return s
			}
		}
	}
	return nil
}

// stageFor makes batches be staged for one more instance.
func (a *ahead) stageFor(s *staging) {
	list := []*staging{s}
	if old := a.to.Load(); old != nil {
		list = append(list, (*old)[:min(len(*old), mostStagings-1)]...)
	}
	a.to.Store(&list)
}

// close returns the parts that nobody took, and forgets the batches, because the next pass may have others. The
// goroutine that fills them has ended.
func (a *ahead) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.batches {
		p.drop()
	}
	clear(a.batches)
	a.batches = a.batches[:0]
}

// isClean reports whether no array of a batch has a NaN.
func isClean(b *data.Batch) bool {
	for _, t := range components(b) {
		for _, array := range t.Arrays {
			if at, err := firstNaN(array); at >= 0 || err != nil {
				return false
			}
		}
	}
	return true
}

// fits reports whether a batch has the arrays that the inputs were made for.
func (s *staging) fits(b *data.Batch) bool {
	all := components(b)
	for i := range s.columns {
		c := &s.columns[i]
		arrays := all[c.kind].Arrays
		if c.index >= len(arrays) || !c.holds(&arrays[c.index], s.rows) {
			return false
		}
	}
	return true
}

// stage writes the parts of a batch to the memory of their devices: all or none.
func (p *preparedBatch) stage(to *staging) {
	all := components(p.batch)
	for replica, from := 0, to.skip; replica < len(to.sizes); replica++ {
		n := to.sizes[replica]
		for i := range to.columns {
			c := &to.columns[i]
			memory := to.inputs[replica][i].Stage()
			if memory == nil {
				p.drop()
				return
			}
			p.staged = append(p.staged, memory)
			c.convert(memory.Bytes(), all[c.kind].Arrays[c.index].Data[from*c.row:(from+n)*c.row])
		}
		from += n
	}
	p.to = to
}

// drop returns the staged parts unused.
func (p *preparedBatch) drop() {
	p.restore()
	for i, s := range p.staged {
		s.Drop()
		p.staged[i] = nil
	}
	p.staged, p.to = p.staged[:0], nil
}

// send makes the staged parts the contents of their inputs.
func (p *preparedBatch) send() error {
	to := p.to
	p.restore()
	for k, s := range p.staged {
		p.staged[k] = nil
		if err := to.inputs[k/len(to.columns)][k%len(to.columns)].WriteStaged(s); err != nil {
			copy(p.staged, p.staged[k+1:]) // those that remain
			p.staged = p.staged[:len(p.staged)-k-1]
			p.drop()
			return err
		}
	}
	p.staged, p.to = p.staged[:0], nil
	return nil
}

// stagingOf says where the parts of the batch go with which an instance was loaded. It returns nil if the parts are
// used in place, or are not plain copies of what the batch holds.
func (f *binder) stagingOf(p *parts, b *data.Batch) *staging {
	if f.pads || f.filled || f.part > 0 || len(f.columns) == 0 || p.rows() != f.rows {
		return nil
	}
	s := &staging{inst: f.inst, sizes: f.sizes, skip: f.skip, rows: f.rows}
	for replica, n := range f.sizes {
		var inputs []kernels.Stager
		for i := range f.columns {
			to, ok := f.inst.Input(replica, i).(kernels.Stager)
			if !ok || n == 0 {
				return nil
			}
			inputs = append(inputs, to)
		}
		s.inputs = append(s.inputs, inputs)
	}
	for i, c := range f.columns {
		kind, index := placeIn(b, *p.at(i))
		if index < 0 {
			return nil
		}
		s.columns = append(s.columns, stagedColumn{c, kind, index})
	}
	s.whole = s.isWhole()
	return s
}

// placeIn finds an array in a batch by its memory address.
func placeIn(b *data.Batch, a data.Array) (kind, index int) {
	for kind, t := range components(b) {
		for i, other := range t.Arrays {
			if shareMemory(a, other) {
				return kind, i
			}
		}
	}
	return 0, -1
}

func shareMemory(a, b data.Array) bool {
	return len(a.Data) > 0 && len(a.Data) == len(b.Data) && &a.Data[0] == &b.Data[0]
}

// from records where the parts come from: a batch of a source.
func (p *parts) from(src source, b *data.Batch) {
	p.batch, p.ahead, p.prepared = b, nil, nil
	if a := aheadOf(src); a != nil {
		p.ahead, p.prepared = a, a.of(b)
	}
}

// load makes a batch the inputs of an instance, and returns the instance. It uses what was prepared for the batch.
func (f *binder) load(p *parts) (*distribute.Instance, error) {
	n := p.rows()
	if !f.fits(p, n) {
		if err := f.acquire(p, n); err != nil {
			return nil, err
		}
	}
	if p.ahead != nil && !f.planned {
		f.plan(p)
	}
	if f.takes(p) {
		return f.inst, p.prepared.send()
	}
	return f.copyRows(p, 0, n)
}

// plan makes the batches that fit the current instance be staged for it.
func (f *binder) plan(p *parts) {
	f.planned = true
	if f.staging = p.ahead.stagingFor(func(s *staging) bool { return s.inst == f.inst }); f.staging != nil {
		return
	}
	if f.staging = f.stagingOf(p, p.batch); f.staging != nil {
		p.ahead.stageFor(f.staging)
	}
}

// takes reports whether the parts of a batch have been staged for the current instance.
func (f *binder) takes(p *parts) bool {
	if p.prepared == nil || p.prepared.to == nil || p.prepared.to != f.staging {
		return false
	}
	all := components(p.batch)
	for i, c := range f.staging.columns {
		if !shareMemory(*p.at(i), all[c.kind].Arrays[c.index]) {
			return false
		}
	}
	return true
}
