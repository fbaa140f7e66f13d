package parameters

import (
	"math/bits"
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/rows"
)

// Distinct returns the different ids in increasing order, and for each id its place among them. So rows travel once,
// whatever the batch repeats.
func Distinct(ids []int64) (distinct []int64, places []int32) {
	var d Distinction
	d.Of(ids)
	return d.IDs, d.Places
}

// Distinction is what [Distinct] finds, in memory that is used again.
type Distinction struct {
	IDs    []int64 // increasing, each once
	Places []int32 // for each id its place in IDs

	words []word
	used  []uint64 // a bit for each of words that is not 0; all 0 between calls, as words are
}

// word is 64 numbers that may be among the ids.
type word struct {
	set    uint64 // those that are
	before int32  // how many are in the words before
}

// Of finds the different ids.
func (d *Distinction) Of(ids []int64) {
	d.IDs, d.Places = d.IDs[:0], slices.Grow(d.Places[:0], len(ids))[:len(ids)]
	if len(ids) == 0 {
		return
	}
	least, most := ids[0], ids[0]
	for _, id := range ids {
		least, most = min(least, id), max(most, id)
	}
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

// count does it without sorting, with a bit for each number between the least and the most. It passes over the words
// that have none without looking at them.
func (d *Distinction) count(ids []int64, least int64, words int) {
	if len(d.words) < words {
		d.words, d.used = make([]word, words), make([]uint64, words/64+1)
	}
	all, used := d.words[:words], d.used[:words/64+1]
	for _, id := range ids {
		at := uint64(id) - uint64(least)
		all[at/64].set |= 1 << (at % 64)
		used[at/4096] |= 1 << (at / 64 % 64)
	}
	for i, u := range used {
		for ; u != 0; u &= u - 1 {
			at := 64*i + bits.TrailingZeros64(u)
			all[at].before = int32(len(d.IDs))
			for w := all[at].set; w != 0; w &= w - 1 {
				d.IDs = append(d.IDs, least+int64(64*at+bits.TrailingZeros64(w)))
			}
		}
	}
	for i, id := range ids {
		at := uint64(id) - uint64(least)
		w := &all[at/64]
		d.Places[i] = w.before + int32(bits.OnesCount64(w.set&(1<<(at%64)-1)))
	}
	for i, u := range used {
		for ; u != 0; u &= u - 1 {
			all[64*i+bits.TrailingZeros64(u)] = word{}
		}
		used[i] = 0
	}
}

// SumRows sums the rows of equal ids: values has a row for each of the ids that Distinct was given.
func SumRows(distinct int, places []int32, width int, values []float32) []float32 {
	return SumRowsTo(nil, distinct, places, width, values)
}

// SumRowsTo is SumRows in memory that is used again where it has room.
func SumRowsTo(out []float32, distinct int, places []int32, width int, values []float32) []float32 {
	out = slices.Grow(out[:0], distinct*width)[:distinct*width]
	clear(out)
	rows.Add(out, values, width, places)
	return out
}
