package plot

import "image/color"

var (
	white     = hex(0xffffff)
	ink       = hex(0x212121)
	inkSoft   = hex(0x616161)
	edgeColor = hex(0x5f6b73)
	cellLine  = hex(0xb0b8bd)
	frameFill = []color.NRGBA{hex(0xf4f6fa), hex(0xe8edf5)} // of nested frames, alternating
	frameLine = hex(0x8492a6)
)

const (
	margin    = 18.0
	edgeWidth = 1.4
	arrowSize = 7.0
	rounding  = 5.0
)

// painter draws layouts into a scene.
type painter struct {
	s    *scene
	c    *config
	w, h float64 // of the plane of the layout
}

// newScene draws the scene of a model.
func newScene(d *diagram, c *config) *scene {
	l := newLayout(d, c, false)
	p := &painter{c: c, w: l.width, h: l.height, s: &scene{w: l.width + 2*margin, h: l.height + 2*margin, title: d.name}}
	if c.sideways() {
		p.s.w, p.s.h = p.s.h, p.s.w
	}
	p.s.shape(shape{path: roundRect(0, 0, p.s.w, p.s.h, 0, 0), fill: white})
	p.layout(l, 0, 0, 0)
	return p.s
}

// at converts a position in the plane to one in the drawing.
func (p *painter) at(u, v float64) point {
	switch p.c.direction {
	case "BT":
		return point{margin + u, margin + p.h - v}
	case "LR":
		return point{margin + v, margin + u}
	case "RL":
		return point{margin + p.h - v, margin + u}
	}
	return point{margin + u, margin + v}
}

// rect converts a rectangle in the plane to one in the drawing.
func (p *painter) rect(u, v, w, h float64) (x, y, width, height float64) {
	a, b := p.at(u, v), p.at(u+w, v+h)
	x, y = min(a.x, b.x), min(a.y, b.y)
	return x, y, max(a.x, b.x) - x, max(a.y, b.y) - y
}

// layout draws a layout, with its frame's corner at (u, v).
func (p *painter) layout(l *layout, u, v float64, depth int) {
	if depth > 0 {
		x, y, w, h := p.rect(u, v, l.width, l.height)
		p.s.shape(shape{path: roundRect(x, y, w, h, 8, 8), fill: frameFill[(depth-1)%2], stroke: frameLine, width: 1, dashed: true})
		p.s.write(text{x: x + framePad*0.75, y: y + 18, size: titleSize, bold: true, color: inkSoft, s: l.d.name})
	}
	du, dv := u+l.beforeU-l.u0, v+l.beforeV-l.v0
	for _, w := range l.g.wires {
		if w.a.port == portIn && !w.a.used || w.b.port == portOut && !w.b.used {
			continue // outside the frame it would lead nowhere
		}
		for _, port := range []*node{w.outOf, w.into} {
			if port != nil {
				port.used = true
			}
		}
		p.wire(l, w, du, dv)
	}
	for _, n := range l.loops {
		p.loop(n, du, dv)
	}
	for _, b := range l.d.boxes {
		n := l.nodes[b]
		if inner := l.inner[b]; inner != nil {
			p.layout(inner, n.u-n.w/2+du, n.v-n.h/2+dv, depth+1)
			continue
		}
		at := p.at(n.u+du, n.v+dv)
		p.label(&b.label, at.x-b.label.w/2, at.y-b.label.h/2)
	}
}

// route collects the path of an edge in the plane, against the arrow's direction if the edge is reversed.
func route(l *layout, w *wire) (points [][2]float64) {
	g := l.g
	add := func(u, v float64) { points = append(points, [2]float64{u, v}) }
	for i, part := range w.links {
		a, b := part.a, part.b
		from := a.v + a.h/2
		if i > 0 {
			from = g.tops[a.rank] + g.sizes[a.rank]
		} else if a.port == portIn {
			from = a.v - l.beforeV
		}
		add(a.u+part.start, from)
		add(a.u+part.start, g.tops[a.rank]+g.sizes[a.rank])
		add(b.u+part.end, g.tops[b.rank])
		to := b.v - b.h/2
		if b.port == portOut {
			to = b.v + l.afterV
		}
		if i == len(w.links)-1 {
			add(b.u+part.end, to)
		}
	}
	return points
}

// wire draws an edge: straight through the ranks, and as a curve from rank to rank.
func (p *painter) wire(l *layout, w *wire, du, dv float64) {
	points := route(l, w)
	for i := range points {
		points[i][0] += du
		points[i][1] += dv
	}
	arrow := w.b.port == 0 && !w.b.fixed
	sign := 1.0
	if w.reversed {
		for i, j := 0, len(points)-1; i < j; i, j = i+1, j-1 {
			points[i], points[j] = points[j], points[i]
		}
		sign = -1
	}
	end := points[len(points)-1]
	if arrow {
		points[len(points)-1][1] -= sign * (arrowSize - 1)
	}
	path := []segment{move(p.at(points[0][0], points[0][1]))}
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		if a[0]-b[0] < 1e-3 && b[0]-a[0] < 1e-3 {
			path = append(path, line(p.at(b[0], b[1])))
			continue
		}
		bend := (b[1] - a[1]) * 0.5
		path = append(path, curve(p.at(a[0], a[1]+bend), p.at(b[0], b[1]-bend), p.at(b[0], b[1])))
	}
	p.s.shape(shape{path: path, stroke: edgeColor, width: edgeWidth})
	if arrow {
		p.arrow(end[0], end[1], 0, sign)
	}
}

// arrow draws an arrowhead with its tip at (u, v), coming from direction (dirU, dirV).
func (p *painter) arrow(u, v, dirU, dirV float64) {
	const half = arrowSize * 0.45
	backU, backV := u-dirU*arrowSize, v-dirV*arrowSize
	p.s.shape(shape{fill: edgeColor, path: []segment{
		move(p.at(u, v)), line(p.at(backU-dirV*half, backV-dirU*half)), line(p.at(backU+dirV*half, backV+dirU*half)), closed(),
	}})
}

// loop draws the arrow of a layer that is called on its own result.
func (p *painter) loop(n *node, du, dv float64) {
	side := n.u + n.w/2 - loopSize + du
	out := side + loopSize - 4
	low, high := n.v+dv+n.h/4, n.v+dv-n.h/4
	p.s.shape(shape{stroke: edgeColor, width: edgeWidth, path: []segment{
		move(p.at(side, low)),
		curve(p.at(out, low), p.at(out, low), p.at(out, (low+high)/2)),
		curve(p.at(out, high), p.at(out, high), p.at(side+arrowSize-1, high)),
	}})
	p.arrow(side, high, -1, 0)
}

// label draws a box: the bar with the title, and the rows below it.
func (p *painter) label(l *label, x, y float64) {
	s := p.s
	lower := rounding
	if len(l.rows) > 0 {
		lower = 0
	}
	s.shape(shape{path: roundRect(x, y, l.w, l.barHeight, rounding, lower), fill: l.bar})
	wide := textWidth(l.title, titleSize, true) + textWidth(l.class, titleSize, false)
	end := s.write(text{x: x + (l.w-wide)/2, y: y + l.barHeight/2 + titleSize*0.36, size: titleSize, bold: true, color: white, s: l.title})
	if l.class != "" {
		s.write(text{x: end, y: y + l.barHeight/2 + titleSize*0.36, size: titleSize, color: white, s: l.class})
	}
	for i, row := range l.rows {
		lower = 0
		if i == len(l.rows)-1 {
			lower = rounding
		}
		p.row(row, x, y+l.barHeight+float64(i)*l.rowHeight, l, lower)
	}
	s.shape(shape{path: roundRect(x, y, l.w, l.h, rounding, rounding), stroke: l.bar, width: 1.2})
}

func (p *painter) row(row []cell, x, y float64, l *label, lower float64) {
	s := p.s
	s.shape(shape{path: roundRect(x, y, l.w, l.rowHeight, 0, lower), fill: white})
	baseline := y + l.rowHeight/2 + cellSize*0.36
	for i, c := range row {
		valueColor := ink
		if c.fill.A > 0 {
			valueColor = white
			var radii [4]float64
			if i == len(row)-1 {
				radii[2] = lower
			}
			if i == 0 {
				radii[3] = lower
			}
			s.shape(shape{path: rounded(x, y, c.w, l.rowHeight, radii), fill: c.fill})
		}
		if i > 0 {
			s.shape(shape{path: []segment{move(point{x, y}), line(point{x, y + l.rowHeight})}, stroke: cellLine, width: 0.8})
		}
		wide, gap := textWidth(c.value, cellSize, true), 0.0
		if c.caption != "" {
			gap = textWidth(c.caption, cellSize, false) + cellGap
		}
		at := x + (c.w-wide-gap)/2
		if c.caption != "" {
			s.write(text{x: at, y: baseline, size: cellSize, color: inkSoft, s: c.caption})
		}
		s.write(text{x: at + gap, y: baseline, size: cellSize, bold: true, color: valueColor, s: c.value})
		x += c.w
	}
	if lower == 0 {
		s.shape(shape{path: []segment{move(point{x - l.w, y + l.rowHeight}), line(point{x, y + l.rowHeight})}, stroke: cellLine, width: 0.8})
	}
}
