package plot

import (
	"math"

	"github.com/gokeras/gokeras/keras"
)

// ParseHistory is exported for the fuzz test.
var ParseHistory = parseHistory

// Rectangle is a box or frame in a drawing.
type Rectangle struct {
	Name       string
	X, Y, W, H float64
	Frame      bool
}

// Picture is what tests check: boxes, frames, points along each edge, and the corners of each line of text.
type Picture struct {
	W, H  float64
	Boxes []Rectangle
	Edges [][][2]float64
	Texts []Rectangle
}

// Draw lays out a model.
func Draw(m *keras.Model, options ...Option) *Picture {
	c, err := configure(options)
	if err != nil {
		panic(err)
	}
	d := newDiagram(m, &c)
	l := newLayout(d, &c, false)
	s := newScene(d, &c)
	p := &painter{s: s, c: &c, w: l.width, h: l.height}
	out := &Picture{W: s.w, H: s.h}
	out.collect(p, l, 0, 0)
	for _, item := range s.items {
		switch v := item.(type) {
		case text:
			out.Texts = append(out.Texts, Rectangle{v.s, v.x, v.y - v.size*0.72, textWidth(v.s, v.size, v.bold), v.size * 0.72, false})
		case shape:
			if v.stroke == edgeColor {
				out.Edges = append(out.Edges, sample(v.path))
			}
		}
	}
	return out
}

func (out *Picture) collect(p *painter, l *layout, u, v float64) {
	du, dv := u+l.beforeU-l.u0, v+l.beforeV-l.v0
	for _, b := range l.d.boxes {
		n := l.nodes[b]
		x, y, w, h := p.rect(n.u-n.w/2+du, n.v-n.h/2+dv, n.w, n.h)
		if b.inner != nil {
			out.Boxes = append(out.Boxes, Rectangle{b.name, x, y, w, h, true})
			out.collect(p, l.inner[b], n.u-n.w/2+du, n.v-n.h/2+dv)
			continue
		}
		x, w, y, h = x+w/2-b.label.w/2, b.label.w, y+h/2-b.label.h/2, b.label.h // without the room for loops
		out.Boxes = append(out.Boxes, Rectangle{b.name, x, y, w, h, false})
	}
}

// sample returns points along a path.
func sample(path []segment) (points [][2]float64) {
	var at point
	const steps = 40
	for _, s := range path {
		for i := 1; i <= steps; i++ {
			t := float64(i) / steps
			switch s.kind {
			case 'L':
				points = append(points, [2]float64{at.x + t*(s.p[0].x-at.x), at.y + t*(s.p[0].y-at.y)})
			case 'C':
				a, b, c, d := math.Pow(1-t, 3), 3*t*(1-t)*(1-t), 3*t*t*(1-t), t*t*t
				points = append(points, [2]float64{
					a*at.x + b*s.p[0].x + c*s.p[1].x + d*s.p[2].x,
					a*at.y + b*s.p[0].y + c*s.p[1].y + d*s.p[2].y})
			}
		}
		at = s.p[max(0, map[byte]int{'M': 0, 'L': 0, 'C': 2, 'Z': 0}[s.kind])]
	}
	return points
}
