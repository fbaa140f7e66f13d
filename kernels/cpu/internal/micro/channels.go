package micro

// RunChannels computes the tile with an operand A that is a vector along the columns, as B is:
//
//	sum = Σ_o Σ_s Σ_k A[o·AOuter + s·ASegment + r·ARow + k·AK + c] · B[o·BOuter + s·BSegment + k·BK + c]
//
// which is depthwise convolution: c runs over channels. Everything else is as for [Run], except that Cols is not
// limited and nothing is read beyond column Cols.
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
		from = vectorChannels(k, t)
	}
	if from < t.Cols {
		portableChannels(t, from)
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
