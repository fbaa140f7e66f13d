package vec

import "unsafe"

// Repeats repeats groups of a few words of 32 bits, each several times in a row.
type Repeats struct {
	words, times int
	lanes        int
	period       int // groups after which the vectors of the result begin where groups do
	behind       int // words that are read from the first group of a period on
	table        []uint32
}

// mostRepeats is how many words the copies of a group may have.
const mostRepeats = 64

// NewRepeats returns nil where there is no kernel that repeats groups of so many words so many times.
func NewRepeats(words, times int) *Repeats {
	lanes := repeatLanes()
	if words < 1 || words > lanes || times < 2 || words*times > mostRepeats {
		return nil
	}
	r := &Repeats{words: words, times: times, lanes: lanes, period: lanes / divisor(words*times, lanes)}
	for at := 0; at < r.period*words*times; at += lanes {
		first, last := r.period*words, 0
		for i := at; i < at+lanes; i++ {
			first, last = min(first, r.source(i)), max(last, r.source(i))
		}
		if last-first >= lanes {
			return nil
		}
		first = min(first, max(r.period*words-lanes, 0)) // so that nothing behind the period is read
		r.behind = max(r.behind, first+lanes)
		for i := at; i < at+lanes; i++ {
			r.table = append(r.table, uint32(r.source(i)-first))
		}
		r.table = append(r.table, uint32(4*first), 0)
	}
	return r
}

// source is the word of a period that word i of the result repeats.
func (r *Repeats) source(i int) int { return i/(r.words*r.times)*r.words + i%r.words }

func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Run repeats n groups at src, as far as it can in whole vectors, and returns how many it repeated. It reads nothing
// behind the last of them.
func (r *Repeats) Run(dst, src unsafe.Pointer, n int) int {
	room := n*r.words - r.behind
	if room < 0 {
		return 0
	}
	periods := room/(r.period*r.words) + 1
	r.run(dst, src, periods)
	return periods * r.period
}
