package vec

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"
)

// Rearranged copies boxes of a few bytes, which lie side by side in the result and at equal distances in the source,
// and whose bytes have another order or gaps there: rows backwards, small transposed planes, parts of rows.
type Rearranged struct {
	wide      int // bytes of a vector
	unit      int // bytes of what a vector finds anywhere in two: of words, and bytes then within parts of 16, or of bytes
	box, step int // bytes of a box, and from one box of the source to the next
	boxes     int // boxes of a period
	end       int // bytes from the beginning of a period to the last one that is written
	low, high int // the bytes that a period reads, from where its first box lies
	first     int // the least byte of a box
	last      int // the byte behind its last one
	entries   int
	table     []byte
	origin    int // the byte of a word that the source of a box begins with
}

// mostRearranged is how many bytes a box may have, and mostPeriod how many vectors of the result belong to a period.
const (
	mostRearranged = 1024
	mostPeriod     = 32
)

// NewRearranged returns nil where there is no kernel, or none that is worth it, for boxes of so many bytes, each step
// bytes behind the one before it, or before it. source says where byte i of a box lies.
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
	for origin := range 4 { // of words; those of a row backwards begin elsewhere than the row
		if r := rearrangedBy(wide, 4, box, step, origin, from); r != nil && (best == nil || r.boxes*best.entries > best.boxes*r.entries) {
			best = r
		}
	}
	return best
}

// rearrangedBy is NewRearranged for words that begin with the byte origin of each four. from says where each byte of a
// box lies.
func rearrangedBy(wide, unit, box, step, origin int, from []int) (best *Rearranged) {
	first, last := slices.Min(from)-origin, slices.Max(from)-origin+1
	one := max(wide/box, 1)
	for boxes := one; boxes <= 4*one && boxes*box <= mostPeriod*wide; boxes += one {
		r := &Rearranged{wide: wide, unit: unit, box: box, step: step, boxes: boxes, first: first, last: last, low: first, high: last, origin: origin}
		if !r.fill(func(i int) int { return i/box*step + from[i%box] - origin }) {
			if best == nil { // longer periods are not much fuller
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

// window is a vector of the source: the bytes of it that are read, from where a unit begins.
type window struct{ low, high int }

// join extends the window to byte at and reports true, unless it is longer than a vector then.
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

// unused is the place of no word.
const unused = math.MinInt

// entry adds the vector of the result that begins at a byte of the period, and returns how many bytes of it count: as
// many as come from two vectors of the source, and, of words, each part of 16 from four.
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
			if int(index) >= r.wide/4 { // the sign chooses the second one where words do not
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

// place moves windows so that they read nothing behind what the boxes of a period do, where that is possible.
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

// index is where a byte of the source lies in the window, or in the one that follows it.
func (w *window) index(second *window, at, wide int) int {
	if d := at - w.low; d >= 0 && d < wide {
		return d
	}
	return at - second.low + wide
}

// up is a divided by b, rounded up; 0 for negative ones.
func up(a, b int) int { return max(a+b-1, 0) / b }

// Run copies the boxes [first, done) of n, as many as whole vectors can. It may write to boxes behind those, too, and
// to as many bytes behind the n as room says, but neither writes nor reads anything else.
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
