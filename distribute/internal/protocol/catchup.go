package protocol

import "bytes"

// Rows of a dynamic table without a gradient may not exist yet, or may be on disk. A rule that is not lazy would change
// them at every update. They are therefore brought up to date when they are needed, with the updates by a zero gradient
// that they have missed. So the table equals one with all rows, bit for bit.

// rateSpan is the learning rate from a given update of the table on.
type rateSpan struct {
	from uint64 // Step
	rate float64
}

// noteRate remembers the rate of the current update.
func (t *Table) noteRate(rate float64) {
	if n := len(t.rates); t.Rule.touchesAll() && (n == 0 || t.rates[n-1].rate != rate) {
		t.rates = append(t.rates, rateSpan{t.Step, rate})
	}
}

// slotsOf cuts a row of a dynamic table, its values and what follows, into slots.
func (t *Table) slotsOf(row []float32, slots [][]float32) [][]float32 {
	for i := range slots {
		slots[i] = row[(1+i)*t.Width : (2+i)*t.Width : (2+i)*t.Width]
	}
	return slots
}

// catchUp brings a row from its state after update from to that after update to.
func (t *Table) catchUp(row []float32, from, to uint64) {
	if from >= to || !t.Rule.touchesAll() {
		return
	}
	slots := t.slotsOf(row, make([][]float32, len(t.Rule.SlotNames())))
	before := make([]float32, len(row))
	for i, span := range t.rates {
		end := to + 1
		if i+1 < len(t.rates) {
			end = min(end, t.rates[i+1].from)
		}
		for step := max(from+1, span.from); step < end; step++ {
			copy(before, row)
			t.Rule.update(t.Rule.factors(span.rate, step), row[:t.Width], nil, slots)
			if bytes.Equal(bytesOf(before), bytesOf(row)) { // and so it stays
				break
			}
		}
	}
}
