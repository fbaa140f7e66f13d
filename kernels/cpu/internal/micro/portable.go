package micro

// portable computes the columns [from, Cols) of the tile in plain Go: blocks of 2x4 elements in registers, and the rest
// one by one.
func portable[T Float](t *Tile[T], from int) {
	portableLine(t, from)
	for line := 1; line < t.Lines; line++ {
		u := *t
		u.C = t.C[line*t.CLine:]
		if t.Bias != nil {
			u.Bias = t.Bias[line*t.BiasLine:]
		}
		if t.K > 0 {
			u.A, u.B = t.A[line*t.ALine:], t.B[line*t.BLine:]
		}
		portableLine(&u, from)
	}
}

func portableLine[T Float](t *Tile[T], from int) {
	r := 0
	for ; r+2 <= t.Rows; r += 2 {
		c := from
		for ; c+4 <= t.Cols; c += 4 {
			block2x4(t, r, c)
		}
		for ; c < t.Cols; c++ {
			t.put(r, c, dot(t, r, c))
			t.put(r+1, c, dot(t, r+1, c))
		}
	}
	if r < t.Rows {
		c := from
		for ; c+4 <= t.Cols; c += 4 {
			block1x4(t, r, c)
		}
		for ; c < t.Cols; c++ {
			t.put(r, c, dot(t, r, c))
		}
	}
}

// put applies the epilogue to one sum and stores it.
func (t *Tile[T]) put(r, c int, sum T) {
	i := r*t.CRow + c
	if t.Bias != nil {
		sum += t.Bias[c]
	}
	if t.Accumulate {
		sum += t.C[i]
	}
	if t.ReLU && sum < 0 {
		sum = 0
	}
	t.C[i] = sum
}

// first returns the value that the sum of an element starts from.
func (t *Tile[T]) first(r, c int) T {
	if t.Continue {
		return t.C[r*t.CRow+c]
	}
	return 0
}

func dot[T Float](t *Tile[T], r, c int) T {
	sum := t.first(r, c)
	for o := range t.Outer {
		for s := range t.Segments {
			ia := o*t.AOuter + s*t.ASegment + r*t.ARow
			ib := o*t.BOuter + s*t.BSegment + c
			for range t.K {
				sum += t.A[ia] * t.B[ib]
				ia += t.AK
				ib += t.BK
			}
		}
	}
	return sum
}

func block1x4[T Float](t *Tile[T], r, c int) {
	s0, s1, s2, s3 := t.first(r, c), t.first(r, c+1), t.first(r, c+2), t.first(r, c+3)
	for o := range t.Outer {
		for s := range t.Segments {
			a := t.A[o*t.AOuter+s*t.ASegment+r*t.ARow:]
			b := t.B[o*t.BOuter+s*t.BSegment+c:]
			ia, ib := 0, 0
			for range t.K {
				v := b[ib : ib+4 : ib+4]
				a0 := a[ia]
				s0 += a0 * v[0]
				s1 += a0 * v[1]
				s2 += a0 * v[2]
				s3 += a0 * v[3]
				ia += t.AK
				ib += t.BK
			}
		}
	}
	t.put(r, c, s0)
	t.put(r, c+1, s1)
	t.put(r, c+2, s2)
	t.put(r, c+3, s3)
}

func block2x4[T Float](t *Tile[T], r, c int) {
	s0, s1, s2, s3 := t.first(r, c), t.first(r, c+1), t.first(r, c+2), t.first(r, c+3)
	t0, t1, t2, t3 := t.first(r+1, c), t.first(r+1, c+1), t.first(r+1, c+2), t.first(r+1, c+3)
	stepA, stepB := t.AK, t.BK
	for o := range t.Outer {
		for s := range t.Segments {
			first := o*t.AOuter + s*t.ASegment + r*t.ARow
			a, a2 := t.A[first:], t.A[first+t.ARow:]
			b := t.B[o*t.BOuter+s*t.BSegment+c:]
			ia, ib := 0, 0
			for range t.K {
				v := b[ib : ib+4 : ib+4]
				x, y := a[ia], a2[ia]
				s0 += x * v[0]
				t0 += y * v[0]
				s1 += x * v[1]
				t1 += y * v[1]
				s2 += x * v[2]
				t2 += y * v[2]
				s3 += x * v[3]
				t3 += y * v[3]
				ia += stepA
				ib += stepB
			}
		}
	}
	t.put(r, c, s0)
	t.put(r, c+1, s1)
	t.put(r, c+2, s2)
	t.put(r, c+3, s3)
	t.put(r+1, c, t0)
	t.put(r+1, c+1, t1)
	t.put(r+1, c+2, t2)
	t.put(r+1, c+3, t3)
}
