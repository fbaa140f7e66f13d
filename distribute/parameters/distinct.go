package parameters

import (
	"math/bits"
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/rows"
)

// Distinct returns the distinct ids in increasing order, and for each of ids its position among them. So each row
// travels once, even if the batch repeats its id.
func Distinct(ids []int64) (distinct []int64, places []int32) {
	var d Distinction
	d.Of(ids)
	return d.IDs, d.Places
}

// Distinction is the result of [Distinct], in memory that is reused.
type Distinction struct {
	IDs    []int64 // increasing, each once
	Places []int32 // for each id its place in IDs

	set    []uint64
	before []int32
}

// Of finds the distinct ids.
func (d *Distinction) Of(ids []int64) {
	d.IDs, d.Places = d.IDs[:0], slices.Grow(d.Places[:0], len(ids))[:len(ids)]
	if len(ids) == 0 {
		return
	}
	least, most := slices.Min(ids), slices.Max(ids)
	if span := uint64(most) - uint64(least); span/64 < uint64(4*len(ids)+1024) {
		d.count(ids, least, int(span/64)+1)
		return
	}
	d.IDs = append(d.IDs, ids...)
	slices.Sort(d.IDs)
	d.IDs = slices.Compact(d.IDs)
	for i, id := range ids {
		at, _ := slices.BinarySearch(d.IDs, id)
		d.Places[i] = int32(at)
	}
}

// count finds them without sorting, with a bit for each number between the smallest and the largest.
func (d *Distinction) count(ids []int64, least int64, words int) {
	d.set, d.before = slices.Grow(d.set[:0], words)[:words], slices.Grow(d.before[:0], words)[:words]
	set, before := d.set, d.before
	clear(set)
	for _, id := range ids {
		at := uint64(id) - uint64(least)
		set[at/64] |= 1 << (at % 64)
	}
	n := int32(0)
	for i, w := range set {
		before[i] = n // bits of the words before
		n += int32(bits.OnesCount64(w))
	}
	d.IDs = slices.Grow(d.IDs, int(n))
	for i, w := range set {
		for ; w != 0; w &= w - 1 {
			d.IDs = append(d.IDs, least+int64(64*i+bits.TrailingZeros64(w)))
		}
	}
	for i, id := range ids {
		at := uint64(id) - uint64(least)
		d.Places[i] = before[at/64] + int32(bits.OnesCount64(set[at/64]&(1<<(at%64)-1)))
	}
}

// SumRows sums the rows of equal ids. values has one row for each of the ids that were passed to Distinct.
func SumRows(distinct int, places []int32, width int, values []float32) []float32 {
	return SumRowsTo(nil, distinct, places, width, values)
}

// SumRowsTo is SumRows into out, if it is large enough, or else into new memory.
func SumRowsTo(out []float32, distinct int, places []int32, width int, values []float32) []float32 {
	out = slices.Grow(out[:0], distinct*width)[:distinct*width]
	clear(out)
	rows.Add(out, values, width, places)
	return out
}
