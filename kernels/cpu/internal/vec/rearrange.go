package vec

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"
)

// Rearranged copies boxes of a few bytes whose bytes have another order, or gaps, in the source: reversed rows, small
// transposed planes, parts of rows. Boxes are contiguous in the result and at equal distances in the source.
type Rearranged struct {
	wide      int // bytes of a vector
	unit      int // bytes that a vector can look up anywhere in two vectors: words (then bytes within parts of 16), or single bytes
	box, step int // bytes of a box, and distance of boxes in the source
	boxes     int // boxes of a period
	end       int // bytes from the beginning of a period to the last byte that is written
	low, high int // the bytes that a period reads, relative to its first box
	first     int // the lowest byte of a box
	last      int // the byte behind its last one
	entries   int
	table     []byte
	origin    int // the byte within a word at which the source of a box begins
}

// mostRearranged is the most bytes of a box, and mostPeriod the most vectors of the result that form a period.
const (
	mostRearranged = 1024
	mostPeriod     = 32
)

// NewRearranged returns nil if there is no kernel that pays for boxes of box bytes, each step bytes from the one before
// it; step may be negative. source returns where byte i of a box is.
func NewRearranged(box, step int, source func(i int) int) *Rearranged {
	wide := 4 * repeatLanes()
	if wide == 0 || box < 1 || box > mostRearranged || step == 0 {
		return nil
	}
	from := make([]int, box)
	for i := range from {
		from[i] = source(i)
	}
	if anyBytes() {
		return rearrangedBy(wide, 1, box, step, 0, from)
	}
	var best *Rearranged
	for origin := range 4 { // of words; the boxes of a reversed row do not begin where the row does
		if r := rearrangedBy(wide, 4, box, step, origin, from); r != nil && (best == nil || r.boxes*best.entries > best.boxes*r.entries) {
			best = r
		}
	}
	return best
}

// rearrangedBy is NewRearranged for boxes that begin with byte origin of a word. from lists where each byte of a box
// is.
func rearrangedBy(wide, unit, box, step, origin int, from []int) (best *Rearranged) {
	first, last := slices.Min(from)-origin, slices.Max(from)-origin+1
	one := max(wide/box, 1)
	for boxes := one; boxes <= 4*one && boxes*box <= mostPeriod*wide; boxes += one {
		r := &Rearranged{wide: wide, unit: unit, box: box, step: step, boxes: boxes, first: first, last: last, low: first, high: last, origin: origin}
		if !r.fill(func(i int) int { return i/box*step + from[i%box] - origin }) {
			if best == nil { // longer periods are hardly fuller
				return nil
			}
		} else if best == nil || boxes*best.entries > best.boxes*r.entries {
			best = r
		}
	}
	return best
}

// fill makes the table, and reports whether vectors are at least half full.
func (r *Rearranged) fill(source func(i int) int) bool {
	bytes := r.boxes * r.box
	for at := 0; at < bytes; {
		n := r.entry(at, bytes, source)
		if r.entries++; r.entries > 2*bytes/r.wide+1 {
			return false
		}
		r.end = max(r.end, at+r.wide)
		at += n
	}
	return 2*bytes >= r.entries*r.wide
}

// window is a vector of the source: the bytes of it that are read, starting at a multiple of a unit.
type window struct{ low, high int }

// join extends the window to byte at. It returns false if it would be longer than a vector.
func (w *window) join(at, unit, wide int) bool {
	low, high := at&^(unit-1), at+1
	if w.high > w.low {
		low, high = min(w.low, low), max(w.high, high)
	}
	if high-low > wide {
		return false
	}
	w.low, w.high = low, high
	return true
}

// unused is the place of a word that does not exist.
const unused = math.MinInt

// entry adds the vector of the result that begins at a byte of the period, and returns how many of its bytes are valid:
// as many as come from two vectors of the source. With words, each part of 16 bytes must come from four words.
func (r *Rearranged) entry(at, bytes int, source func(i int) int) (n int) {
	var windows [2]window
	words, within := make([]int, r.wide/4), make([]byte, r.wide)
	for k := range words {
		words[k] = unused
	}
	for ; n < min(r.wide, bytes-at); n++ {
		from, part := source(at+n), n/16*4
		k := part
		for r.unit == 4 && k < part+4 && words[k] != unused && words[k] != from>>2 {
			k++
		}
		if w := windows; k < part+4 && (w[0].join(from, r.unit, r.wide) || w[1].join(from, r.unit, r.wide)) {
			windows = w
		} else {
			break
		}
		words[k], within[n] = from>>2, byte(4*(k-part)+from&3)
	}
	r.place(&windows)
	if r.unit == 1 {
		for i := range n {
			within[i] = byte(windows[0].index(&windows[1], source(at+i), r.wide))
		}
	} else {
		for _, word := range words {
			index := uint32(0)
			if word != unused {
				index = uint32(windows[0].index(&windows[1], 4*word, r.wide) / 4)
			}
			if int(index) >= r.wide/4 { // the sign selects the second vector where words do not
				index |= 1 << 31
			}
			r.table = binary.NativeEndian.AppendUint32(r.table, index)
		}
	}
	r.table = append(r.table, within...)
	for _, v := range []int{windows[0].low, windows[1].low, n} {
		r.table = binary.NativeEndian.AppendUint64(r.table, uint64(v))
	}
	return n
}

// place moves windows so that they read nothing behind the boxes of a period, if possible.
func (r *Rearranged) place(windows *[2]window) {
	low, high := r.first+min(0, (r.boxes-1)*r.step), r.last+max(0, (r.boxes-1)*r.step)
	for i := range windows {
		w := &windows[i]
		if w.high == w.low {
			*w = windows[0]
		}
		for w.low+r.wide > high && w.low-r.unit >= low && w.high <= w.low-r.unit+r.wide {
			w.low -= r.unit
		}
		r.low, r.high = min(r.low, w.low), max(r.high, w.low+r.wide)
	}
}

// index returns where a byte of the source is in the window, or in the second one.
func (w *window) index(second *window, at, wide int) int {
	if d := at - w.low; d >= 0 && d < wide {
		return d
	}
	return at - second.low + wide
}

// up returns a divided by b, rounded up; 0 for negative a.
func up(a, b int) int { return max(a+b-1, 0) / b }

// Run copies the boxes [first, done) of n, as many as whole vectors can. It may write to boxes behind those too, and to
// room bytes behind the n boxes. It neither writes nor reads anything else.
func (r *Rearranged) Run(dst, src unsafe.Pointer, n, room int) (first, done int) {
	step, before, behind := r.step, r.first-r.low, r.high-r.last
	if step < 0 {
		step, before, behind = -step, behind, before
	}
	first = up(before, step)
	last := n - max(r.boxes, up(r.end-room, r.box), 1+up(behind, step)) // where the last period may begin
	if last < first {
		return 0, 0
	}
	periods := (last-first)/r.boxes + 1
	r.run(unsafe.Add(dst, first*r.box), unsafe.Add(src, first*r.step+r.origin), periods)
	return first, first + periods*r.boxes
}
