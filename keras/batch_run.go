package keras

import (
	"maps"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
)

// batchRun is what a call of TrainOnBatch or TestOnBatch leaves for the next one: the program with its memory, and the
// destinations of a batch's arrays. So calls with batches of one shape allocate nothing but the map that they return.
// Fit and Evaluate, which take the program for themselves, discard it, and so does everything that makes new programs.
type batchRun struct {
	batch   data.Batch
	parts   parts
	binder  *binder
	results *resultReader
	metrics []*namedMetric // those that each call resets
	plain   fitConfig      // the options of a call without any
}

func mode(train bool) int {
	if train {
		return 1
	}
	return 0
}

// takeBatchRun takes what the last call has left, or makes a new one.
func (m *Model) takeBatchRun(train bool) *batchRun {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refreshSteps() // discards it if layers have changed
	last := &m.compiled.batches[mode(train)]
	r := *last
	if *last = nil; r == nil {
		r = &batchRun{}
	}
	return r
}

// putBatchRun leaves it to the next call, without the caller's arrays.
func (m *Model) putBatchRun(r *batchRun, train bool) {
	r.forget()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.compiled.batches[mode(train)] = r
}

// fitsLast reports whether the batch has the shapes of the previous call's, so that the model is ready for it.
func (m *Model) fitsLast(r *batchRun, classWeight map[int]float64, train bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.compiled
	fn, fits := c.test, c.testFits(&r.parts)
	if train {
		fn, fits = c.train, c.fits(&r.parts)
	}
	return r.binder != nil && r.binder.fn == fn && r.binder.fits(&r.parts, r.parts.rows()) && fits && maps.Equal(c.classWeight, classWeight) && !(train && c.stale)
}

// load copies the batch into the memory of the program.
func (r *batchRun) load(m *Model, train bool) (*distribute.Instance, error) {
	fn := m.compiled.test
	if train {
		fn = m.compiled.train
	}
	if r.binder == nil || r.binder.fn != fn {
		r.close()
		if r.binder = m.newTestBinder(); train {
			r.binder = newBinder(fn, m.policy.Float())
		}
		r.results = newResultReader(m, train)
	}
	return r.binder.load(&r.parts)
}

// forget drops the references to the caller's arrays.
func (r *batchRun) forget() {
	if r.binder.inst != nil {
		r.binder.forget()
	}
	r.binder.planned, r.binder.staging = false, nil // for the data of the next call
	r.batch = data.Batch{}
	for i := range r.parts.own {
		clear(r.parts.own[i])
	}
	r.parts = parts{own: r.parts.own}
}

// close returns the program.
func (r *batchRun) close() {
	if r != nil && r.binder != nil {
		r.binder.release()
		r.binder = nil
	}
}

// closeBatches discards what calls with single batches have left.
func (m *Model) closeBatches() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.compiled.closeBatches()
}

// closeBatches does the same with Model.mu held.
func (c *compiled) closeBatches() {
	for i, r := range c.batches {
		r.close()
		c.batches[i] = nil
	}
}
