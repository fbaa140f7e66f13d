package micro

import "github.com/gokeras/gokeras/kernels/cpu/internal/tile"

// RunChannels computes the tile with an operand A that is a vector along the columns, like B:
//
//	sum = Σ_o Σ_s Σ_k A[o·AOuter + s·ASegment + r·ARow + k·AK + c] · B[o·BOuter + s·BSegment + k·BK + c]
//
// This is depthwise convolution: c runs over channels. Everything else is as for [Run], except that the number of Cols
// is not limited and nothing is read beyond them.
func RunChannels[T Float](t *Tile[T]) {
	if t.Rows <= 0 || t.Cols <= 0 {
		return
	}
	if t.K <= 0 || t.Segments <= 0 || t.Outer <= 0 {
		t.K, t.Segments, t.Outer = 0, 0, 0
	}
	t.checkChannels()
	from := 0
	if k := best[T](); k.Lanes > 1 && t.K > 0 {
		from = wholeChannels(k, t)
	}
	if from < t.Cols {
		portableChannels(t, from)
	}
}

// NarrowChannels returns the number of columns from which on [RunChannels] computes all columns with vectors, whatever
// their number. It is 1 if there are no vectors.
func NarrowChannels[T Float]() int { return narrowest(best[T]()).Lanes }

func narrowest(k *tile.Tile) *tile.Tile {
	for n := narrower(k); n != nil; n = narrower(k) {
		k = n
	}
	return k
}

// wholeChannels computes columns with vectors and returns how many it computed: all of them, if they fill one vector. A
// last, incomplete vector overlaps the one before it.
func wholeChannels[T Float](k *tile.Tile, t *Tile[T]) int {
	lanes := narrowest(k).Lanes
	if t.Cols < lanes || t.Cols%lanes == 0 {
		return vectorChannels(k, t)
	}
	if half := k.Lanes / 2; t.Cols > k.Lanes && t.Cols%k.Lanes > half && half > 0 {
		lanes = k.Lanes
	}
	u := *t
	u.Cols = t.Cols / lanes * lanes
	vectorChannels(k, &u)
	if t.Accumulate {
		addLast(k, t, lanes)
		return t.Cols
	}
	u.skip(t.Cols-lanes, lanes)
	vectorChannels(k, &u)
	return t.Cols
}

// skip makes the tile begin at a later column.
func (t *Tile[T]) skip(col, cols int) {
	t.A, t.B, t.C, t.Cols = t.A[col:], t.B[col:], t.C[col:], cols
	if t.Bias != nil {
		t.Bias = t.Bias[col:]
	}
}

// keptSums is the number of sums that addLast keeps at a time.
const keptSums = 128

// addLast adds to the columns that fill no whole vector. The other columns of their vector already have their sums,
// which are saved and restored.
func addLast[T Float](k *tile.Tile, t *Tile[T], lanes int) {
	var kept [keptSums]T
	again := lanes - t.Cols%lanes
	u := *t
	u.skip(t.Cols-lanes, lanes)
	u.Lines = 1
	a, c := u.A, u.C
	for line := range max(t.Lines, 1) {
		for row := 0; row < t.Rows; row += keptSums / lanes {
			u.A, u.C, u.Rows = a[line*t.ALine+row*t.ARow:], c[line*t.CLine+row*t.CRow:], min(keptSums/lanes, t.Rows-row)
			for r := range u.Rows {
				copy(kept[r*lanes:][:again], u.C[r*t.CRow:])
			}
			vectorChannels(k, &u)
			for r := range u.Rows {
				copy(u.C[r*t.CRow:][:again], kept[r*lanes:])
			}
		}
	}
}

// channelBlock is the number of channels whose sums portableChannels keeps at a time.
const channelBlock = 64

// portableChannels computes the columns [from, Cols) in plain Go.
func portableChannels[T Float](t *Tile[T], from int) {
	portableChannelsLine(t, from)
	for line := 1; line < t.Lines; line++ {
		u := *t
		u.C = t.C[line*t.CLine:]
		if t.K > 0 {
			u.A = t.A[line*t.ALine:]
		}
		portableChannelsLine(&u, from)
	}
}

func portableChannelsLine[T Float](t *Tile[T], from int) {
	var sums [channelBlock]T
	for r := range t.Rows {
		for c := from; c < t.Cols; c += channelBlock {
			sum := sums[:min(channelBlock, t.Cols-c)]
			clear(sum)
			for o := range t.Outer {
				for s := range t.Segments {
					ia := o*t.AOuter + s*t.ASegment + r*t.ARow + c
					ib := o*t.BOuter + s*t.BSegment + c
					for range t.K {
						a, b := t.A[ia:ia+len(sum)], t.B[ib:ib+len(sum)]
						for i := range sum {
							sum[i] += a[i] * b[i]
						}
						ia += t.AK
						ib += t.BK
					}
				}
			}
			for i, v := range sum {
				t.put(r, c+i, v)
			}
		}
	}
}
