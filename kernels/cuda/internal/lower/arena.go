package lower

import "slices"

// arena plans memory. Regions are allocated and freed while steps are written, which is also the order in which they
// run.
type arena struct {
	free []span // free regions, sorted and not adjacent
	top  int64
	max  int64
}

type span struct{ from, to int64 }

const alignment = 256

func rounded(bytes int) int64 { return (int64(bytes) + alignment - 1) &^ (alignment - 1) }

// take allocates a region, in the smallest hole that is large enough or at the end, and returns its offset.
func (a *arena) take(bytes int) int64 {
	n := max(rounded(bytes), alignment)
	best := -1
	for i, s := range a.free {
		if size := s.to - s.from; size >= n && (best < 0 || size < a.free[best].to-a.free[best].from) {
			best = i
		}
	}
	if best >= 0 {
		from := a.free[best].from
		if a.free[best].from += n; a.free[best].from == a.free[best].to {
			a.free = slices.Delete(a.free, best, best+1)
		}
		return from
	}
	from := a.top
	if last := len(a.free) - 1; last >= 0 && a.free[last].to == a.top { // extend the hole at the end
		from = a.free[last].from
		a.free = a.free[:last]
	}
	a.top = from + n
	a.max = max(a.max, a.top)
	return from
}

// give frees a region.
func (a *arena) give(from int64, bytes int) {
	s := span{from, from + max(rounded(bytes), alignment)}
	i, _ := slices.BinarySearchFunc(a.free, s, func(x, y span) int { return int(x.from - y.from) })
	a.free = slices.Insert(a.free, i, s)
	if i+1 < len(a.free) && a.free[i].to == a.free[i+1].from {
		a.free[i].to = a.free[i+1].to
		a.free = slices.Delete(a.free, i+1, i+2)
	}
	if i > 0 && a.free[i-1].to == a.free[i].from {
		a.free[i-1].to = a.free[i].to
		a.free = slices.Delete(a.free, i, i+1)
	}
}
