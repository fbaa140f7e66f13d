package geometry

// Windows are windows along the last axis that have the same cells inside the source. Each is Stride positions after
// the previous one.
type Windows struct {
	First, Step, Count int // positions of the results along the last axis: First, First+Step, and so on
	Source, Stride     int // position of the first cell of the first window along the last axis of the source
	length             int // number of cells along the last axis
}

// Gather says which elements each element of a result is computed from: the cells of a window of the source that lie
// inside it.
type Gather struct {
	source, result [3]int
	channels       int
	cells          [3][]interval // along each axis, for each position of the result
	windows        []Windows
	longest        [2]int  // windows along the first two axes
	tables         [][]int // for windows of each length: see table
}

type interval struct{ lo, hi int }

func (i interval) length() int { return max(i.hi-i.lo, 0) }

// Forward returns how pooling gathers its windows from the input.
func (p *Pooling) Forward() *Gather {
	return newGather(p.In, p.Out, p.Channels, 1, p.Stride[2], p.Interval)
}

// Backward returns how the gradient of average pooling gathers, for each element of the input, from the windows that
// contain it.
func (p *Pooling) Backward() *Gather {
	return newGather(p.Out, p.In, p.Channels, p.Stride[2], 1, p.holders)
}

// holders returns the windows along an axis that contain a position of the input.
func (p *Pooling) holders(axis, at int) (lo, hi int) {
	last := at + p.pad[axis]
	if first := last - p.Window[axis] + 1; first > 0 {
		lo = (first + p.Stride[axis] - 1) / p.Stride[axis]
	}
	return lo, min(last/p.Stride[axis]+1, p.Out[axis])
}

// Full reports whether no edge cuts off a window.
func (p *Pooling) Full() bool {
	for axis, n := range p.Out {
		for at := range n {
			if lo, hi := p.Interval(axis, at); hi-lo != p.Window[axis] {
				return false
			}
		}
	}
	return true
}

// newGather prepares a gather of windows that are step results apart, and stride positions apart in the source.
func newGather(source, result [3]int, channels, step, stride int, cells func(axis, at int) (lo, hi int)) *Gather {
	g := &Gather{source: source, result: result, channels: channels}
	for axis, n := range result {
		g.cells[axis] = make([]interval, n)
		for at := range n {
			lo, hi := cells(axis, at)
			g.cells[axis][at] = interval{lo, hi}
			if axis < 2 {
				g.longest[axis] = max(g.longest[axis], g.cells[axis][at].length())
			}
		}
	}
	last := g.cells[2]
	for first := range min(step, len(last)) {
		for at := first; at < len(last); {
			w := Windows{First: at, Step: step, Count: 1, Source: last[at].lo, Stride: stride, length: last[at].length()}
			for at += step; at < len(last) && last[at].length() == w.length && (w.length == 0 || last[at].lo == w.Source+w.Count*stride); at += step {
				w.Count++
			}
			g.windows = append(g.windows, w)
		}
	}
	g.tables = make([][]int, (g.longest[0]+1)*(g.longest[1]+1)*len(g.windows))
	for _, d := range g.cells[0] {
		for _, h := range g.cells[1] {
			for i, w := range g.windows {
				if t := g.table(d, h, i); *t == nil {
					*t = g.distances(d.length(), h.length(), w.length)
				}
			}
		}
	}
	return g
}

// table returns the place for the table of a window: d and h along the first two axes, w an index of windows along the
// last.
func (g *Gather) table(d, h interval, w int) *[]int {
	return &g.tables[(d.length()*(g.longest[1]+1)+h.length())*len(g.windows)+w]
}

// distances returns the distances of all cells of a window with the given lengths from its first cell.
func (g *Gather) distances(lengths ...int) []int {
	table := make([]int, 0, lengths[0]*lengths[1]*lengths[2])
	for i := range lengths[0] {
		for j := range lengths[1] {
			for k := range lengths[2] {
				table = append(table, ((i*g.source[1]+j)*g.source[2]+k)*g.channels)
			}
		}
	}
	return table
}

// Lines returns the number of lines along the last axis of an image of the result.
func (g *Gather) Lines() int { return g.result[0] * g.result[1] }

// Each calls f for all windows of a line. result and source are the elements of an image where the first result and the
// first cell are, and cells holds the distances of the cells from the first. If no cell lies inside the source, cells
// is empty and source is 0.
func (g *Gather) Each(line int, f func(w *Windows, result, source int, cells []int)) {
	d, h := g.cells[0][line/g.result[1]], g.cells[1][line%g.result[1]]
	for i := range g.windows {
		w, source := &g.windows[i], 0
		cells := *g.table(d, h, i)
		if len(cells) > 0 {
			source = ((d.lo*g.source[1]+h.lo)*g.source[2] + w.Source) * g.channels
		}
		f(w, (line*g.result[2]+w.First)*g.channels, source, cells)
	}
}

// Widths returns the numbers of elements of a line along the last axis of the source and of the result.
func (g *Gather) Widths() (source, result int) {
	return g.source[2] * g.channels, g.result[2] * g.channels
}

// Sources returns the lines of the source [lo, hi) that a line of the result is computed from. With three axes, not all
// of these are needed. If none is, lo = hi.
func (g *Gather) Sources(line int) (lo, hi int) {
	d, h := g.cells[0][line/g.result[1]], g.cells[1][line%g.result[1]]
	if d.length() == 0 || h.length() == 0 {
		return 0, 0
	}
	return d.lo*g.source[1] + h.lo, (d.hi-1)*g.source[1] + h.hi
}
