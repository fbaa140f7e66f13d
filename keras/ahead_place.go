package keras

import "github.com/gokeras/gokeras/data"

// A batch whose arrays go unchanged to one device needs no memory of its own: its rows are gathered directly in the
// memory that the device copies from. The batch gets its own memory back when it is sent or dropped.

// place is called with each batch before it is filled.
func (a *ahead) place(b *data.Batch) {
	p := a.entry(b)
	p.drop() // parts that nobody took
	if !a.lends {
		return
	}
	if to := a.stagingFor(func(s *staging) bool { return s.whole && s.fits(b) }); to != nil {
		p.place(to)
	}
}

// isWhole reports whether a single device takes all rows, each from a different array.
func (s *staging) isWhole() bool {
	if len(s.sizes) != 1 || s.skip != 0 || s.sizes[0] != s.rows {
		return false
	}
	for i, c := range s.columns {
		for _, other := range s.columns[:i] {
			if other.kind == c.kind && other.index == c.index {
				return false
			}
		}
	}
	return true
}

// place stages all columns, and moves those that have the device's type into the staged memory.
func (p *preparedBatch) place(to *staging) {
	all := components(p.batch)
	p.placed = to
	for i := range to.columns {
		c := &to.columns[i]
		memory := to.inputs[0][i].Stage()
		if memory == nil {
			p.drop() // it will be staged when it has been filled, if there is memory then
			return
		}
		p.staged = append(p.staged, memory)
		array, own := &all[c.kind].Arrays[c.index], []byte(nil)
		if raw := memory.Bytes(); c.host == c.types.DType && len(raw) == len(array.Data) {
			own, array.Data = array.Data, raw
		}
		p.own = append(p.own, own)
	}
}

// complete converts the columns that were not moved. The batch has been filled.
func (p *preparedBatch) complete() {
	all := components(p.batch)
	for i := range p.placed.columns {
		if c := &p.placed.columns[i]; p.own[i] == nil {
			c.convert(p.staged[i].Bytes(), all[c.kind].Arrays[c.index].Data)
		}
	}
	p.to = p.placed
}

// restore gives the batch its own memory back, with the contents from before.
func (p *preparedBatch) restore() {
	if p.placed == nil {
		return
	}
	all := components(p.batch)
	for i, own := range p.own {
		if c := &p.placed.columns[i]; own != nil {
			all[c.kind].Arrays[c.index].Data = own
		}
		p.own[i] = nil
	}
	p.own, p.placed = p.own[:0], nil
}

// lendsMemory lets the batches of a source be stored in the memory that a device copies from, if nobody reads a batch
// again after it was sent. It is called between passes.
func lendsMemory(src source, lends bool) {
	if a := aheadOf(src); a != nil {
		a.lends = lends
	}
}
