package plot

import "image/color"

// point is a position in the drawing, in units of 1/72 inch from its upper left corner.
type point struct{ x, y float64 }

// segment is a part of a path: a move (no points before it), a line, or a cubic curve with two control points.
type segment struct {
	kind byte // 'M', 'L', 'C' or 'Z'
	p    [3]point
}

// shape is a path that is filled, stroked or both. Transparent colours are not drawn.
type shape struct {
	path         []segment
	fill, stroke color.NRGBA
	width        float64
	dashed       bool
}

// text is one line of text, with its left end on the baseline at (x, y).
type text struct {
	x, y  float64
	size  float64
	bold  bool
	color color.NRGBA
	s     string
}

// scene is a drawing: a list of items, each a shape or a text, drawn over the earlier ones.
type scene struct {
	w, h  float64
	title string
	items []any
}

func (s *scene) shape(v shape) { s.items = append(s.items, v) }

// write adds text and returns where it ends.
func (s *scene) write(t text) (end float64) {
	s.items = append(s.items, t)
	return t.x + textWidth(t.s, t.size, t.bold)
}

func move(p point) segment        { return segment{'M', [3]point{p}} }
func line(p point) segment        { return segment{'L', [3]point{p}} }
func curve(a, b, c point) segment { return segment{'C', [3]point{a, b, c}} }
func closed() segment             { return segment{kind: 'Z'} }

// corner is the distance of the control points of a quarter circle of radius 1 from the corner.
const corner = 1 - 0.5522847498

// roundRect returns a rectangle whose upper and lower corners are rounded with the given radii.
func roundRect(x, y, w, h, upper, lower float64) []segment {
	return rounded(x, y, w, h, [4]float64{upper, upper, lower, lower})
}

// rounded returns a rectangle whose corners are rounded with the given radii: upper left, upper right, lower right,
// lower left.
func rounded(x, y, w, h float64, radii [4]float64) []segment {
	corners := [4]point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}
	along := [4]point{{0, -1}, {1, 0}, {0, 1}, {-1, 0}} // the direction in which the outline reaches each corner
	var path []segment
	for i, c := range corners {
		in, out, r := along[i], along[(i+1)%4], radii[i]
		reach := line(point{c.x - in.x*r, c.y - in.y*r})
		if i == 0 {
			reach.kind = 'M'
		}
		path = append(path, reach)
		if r > 0 {
			path = append(path, curve(
				point{c.x - in.x*corner*r, c.y - in.y*corner*r},
				point{c.x + out.x*corner*r, c.y + out.y*corner*r},
				point{c.x + out.x*r, c.y + out.y*r}))
		}
	}
	return append(path, closed())
}
