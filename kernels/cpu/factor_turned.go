package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// turnedRows are rows that are rotated two at a time.
type turnedRows struct {
	count, stride int
	rows          []float64
	angle         []float64 // cosine and sine of the angle
}

// shortTurn is the length of rows up to which loops are faster than calls.
const shortTurn = 24

func newTurnedRows(count, length int) turnedRows {
	t := turnedRows{count: count, stride: length}
	if length > shortTurn {
		t.stride = paddedColumns(length)
	}
	return t
}

func (t *turnedRows) size() int { return t.count*t.stride + 2 }

func (t *turnedRows) cut(scratch *[]float64) {
	t.rows, t.angle = cut(scratch, t.count*t.stride), cut(scratch, 2)
	clear(t.rows)
}

// turn replaces rows p and q, with p < q, by c·p - s·q and s·p + c·q.
func (t *turnedRows) turn(p, q int, c, s float64) {
	if t.stride > shortTurn {
		t.angle[0], t.angle[1] = c, s
		vec.TurnChain(t.rows[p*t.stride:], t.angle, 1, t.stride, (q-p)*t.stride)
		return
	}
	x, y := t.rows[p*t.stride:][:t.stride], t.rows[q*t.stride:][:t.stride]
	for i, v := range x {
		w := y[i]
		x[i], y[i] = c*v-s*w, s*v+c*w
	}
}

// dot is the sum of products.
func dot[T block.Float](x, y []T) T {
	if len(x) > shortTurn {
		return vec.Dot(x, y)
	}
	var even, odd T
	y = y[:len(x)]
	for ; len(x) >= 2; x, y = x[2:], y[2:] {
		even += x[0] * y[0]
		odd += x[1] * y[1]
	}
	if len(x) > 0 {
		even += x[0] * y[0]
	}
	return even + odd
}
