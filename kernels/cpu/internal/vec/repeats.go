package vec

import "unsafe"

// Repeats repeats groups of a few bytes; the copies of a group follow each other.
type Repeats struct {
	group, times int
	wide         int // bytes of a vector
	period       int // groups after which vectors of the result begin where groups do
	behind       int // bytes that are read, from the first group of a period on
	table        []uint8
}

// mostRepeats is the most bytes of all copies of a group.
const mostRepeats = 256

// NewRepeats returns nil if no kernel repeats groups of that many bytes that many times.
func NewRepeats(group, times int) *Repeats {
	wide := 4 * repeatLanes()
	if group < 1 || group > wide || times < 2 || group*times > mostRepeats {
		return nil
	}
	r := &Repeats{group: group, times: times, wide: wide, period: wide / divisor(group*times, wide)}
	for at := 0; at < r.period*group*times; at += wide {
		first, last := r.period*group, 0
		for i := at; i < at+wide; i++ {
			first, last = min(first, r.source(i)), max(last, r.source(i))
		}
		first -= first % 4
		first = min(first, max(r.period*group-wide, 0)) // so that nothing is read behind the period
		if last-first >= wide || !r.add(at, first) {
			return nil
		}
	}
	return r
}

// add adds the entry for the vector at a byte of the result; its sources are in the vector at byte first of the period.
// It returns false if a part of 16 bytes needs more than four words.
func (r *Repeats) add(at, first int) bool {
	r.behind = max(r.behind, first+r.wide)
	words, within := make([]uint8, r.wide), make([]uint8, r.wide, r.wide+8)
	for part := 0; part < r.wide; part += 16 {
		known := 0
		for i := part; i < part+16; i++ {
			from, k := r.source(at+i)-first, 0
			for k < known && words[part+4*k] != uint8(from/4) {
				k++
			}
			if k == 4 {
				return false
			}
			known = max(known, k+1)
			words[part+4*k], within[i] = uint8(from/4), uint8(4*k+from%4)
		}
	}
	r.table = append(append(r.table, words...), append(within, uint8(first), uint8(first>>8), 0, 0, 0, 0, 0, 0)...)
	return true
}

// source returns the byte of a period that byte i of the result copies.
func (r *Repeats) source(i int) int { return i/(r.group*r.times)*r.group + i%r.group }

func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Run repeats n groups at src, as far as whole vectors go, and returns how many it repeated. It reads nothing behind
// the last of the n.
func (r *Repeats) Run(dst, src unsafe.Pointer, n int) int {
	room := n*r.group - r.behind
	if room < 0 {
		return 0
	}
	periods := room/(r.period*r.group) + 1
	r.run(dst, src, periods)
	return periods * r.period
}
