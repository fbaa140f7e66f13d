package geometry

// Axes says how windows are combined axis by axis: the lines of a window first, then the pixels of the line that this
// gives.
type Axes struct {
	Source, Result int   // elements of a line
	Before, Padded int   // elements of the line in between: before its source, and altogether
	Pixels         []int // distances of the pixels of a window
	Runs, Step     int   // runs of results whose windows are one pixel apart, all of a line if possible, and elements from one run's windows to the next
	lines          []linesOf
	operations     [2]int // for a line of the result: axis by axis, and cell by cell
}

// linesOf are the lines that a line of the result is computed from.
type linesOf struct {
	first int
	cells []int
}

// ForwardAxes returns how pooling combines its windows.
func (p *Pooling) ForwardAxes() *Axes { return p.axes(p.In, p.Out, p.pad[2], p.Stride[2], p.Interval) }

// BackwardAxes returns how the gradient of average pooling combines, for each element of the input, the windows that
// contain it, or nil if windows are not one pixel apart.
func (p *Pooling) BackwardAxes() *Axes {
	if p.Stride[2] != 1 {
		return nil
	}
	return p.axes(p.Out, p.In, p.Window[2]-1-p.pad[2], 1, p.holders)
}

// axes puts the line of the source behind so many pixels. Windows are stride pixels apart.
func (p *Pooling) axes(source, result [3]int, before, stride int, cells func(axis, at int) (lo, hi int)) *Axes {
	if before < 0 {
		return nil
	}
	c, window := p.Channels, p.Window[2]
	a := &Axes{Source: source[2] * c, Result: result[2] * c, Before: before * c, Padded: max(before+source[2], (result[2]-1)*stride+window) * c, Runs: 1}
	if stride > 1 && result[2] > 0 {
		a.Runs, a.Step = result[2], stride*c
	}
	for k := range window {
		a.Pixels = append(a.Pixels, k*c)
	}
	tables, longest := map[[2]int][]int{}, 0
	for d := range result[0] {
		d0, d1 := cells(0, d)
		for h := range result[1] {
			h0, h1 := cells(1, h)
			size := [2]int{max(d1-d0, 0), max(h1-h0, 0)}
			if tables[size] == nil {
				for i := range size[0] {
					for j := range size[1] {
						tables[size] = append(tables[size], (i*source[1]+j)*a.Source)
					}
				}
			}
			l := linesOf{cells: tables[size]}
			if len(l.cells) > 0 {
				l.first = (d0*source[1] + h0) * a.Source
			}
			a.lines, longest = append(a.lines, l), max(longest, len(l.cells))
		}
	}
	a.operations = [2]int{longest*a.Source + window*a.Result, longest * window * a.Result}
	return a
}

// Count returns the number of lines of an image of the result.
func (a *Axes) Count() int { return len(a.lines) }

// Lines returns the element of an image of the source where the first line is that a line of the result is computed
// from, and the distances of all of them from there.
func (a *Axes) Lines(line int) (first int, cells []int) {
	return a.lines[line].first, a.lines[line].cells
}

// Fewer reports whether the operations axis by axis are at most the given part of those cell by cell.
func (a *Axes) Fewer(part float64) bool {
	return float64(a.operations[0]) <= part*float64(a.operations[1])
}
