package protocol

import "bytes"

// Rows of a dynamic table that have no gradient are not there to be updated, or on disk. If the rule is not lazy, and
// so would change them, they are brought up to date when they are needed: by the updates with a gradient of zero that
// they have missed. So the table is what one with all rows would be, bit for bit.

// rateSpan says what the learning rate has been since an update of the table.
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

// catchUp brings a row that is as of update from to update to.
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
