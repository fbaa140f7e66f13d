package plot

import (
	"math"
	"slices"
	"strings"
)

// Lengths of a panel, in points.
const (
	panelWidth  = 374.4
	panelHeight = 252.0
	headHeight  = 44.6 // title and legend are above the curves, so the legend covers nothing
	panelEdge   = 10.0 // around a panel
	tickLength  = 4.0
	tickSize    = 9.5 // font size
	labelSize   = 10.5
	mostDots    = 40 // curves with more points have no dots
)

var (
	gridColor = hex(0xe6e9ec)
	axisColor = hex(0x90a4ae)
)

// frame is the area of the curves, and the range of values that it shows.
type frame struct {
	left, right, top, bottom float64
	first, last, low, high   float64
}

// at returns the position of a value in the drawing.
func (f *frame) at(p point) point {
	return point{f.left + (p.x-f.first)/(f.last-f.first)*(f.right-f.left), f.bottom - (p.y-f.low)/(f.high-f.low)*(f.bottom-f.top)}
}

// draw draws a panel with its upper left corner at (x, y): its name and legend in a strip at the top, the curves below.
func (p *panel) draw(s *scene, x, y float64) {
	f := frame{first: math.Inf(1), last: math.Inf(-1), low: math.Inf(1), high: math.Inf(-1)}
	for _, curve := range p.curves {
		for _, v := range curve.points {
			f.first, f.last = min(f.first, v.x), max(f.last, v.x)
			f.low, f.high = min(f.low, v.y), max(f.high, v.y)
		}
	}
	f.low, f.high = roomy(f.low, f.high)
	if f.first == f.last {
		f.first, f.last = f.first-1, f.last+1
	}
	epochs, values := epochTicks(f.first, f.last), valueTicks(f.low, f.high)
	widest := 0.0
	for _, t := range values {
		widest = max(widest, textWidth(t.label, tickSize, false))
	}
	f.left, f.right = x+panelEdge+widest+tickLength+4, x+panelWidth-18
	f.top, f.bottom = y+headHeight, y+panelHeight-panelEdge-labelSize-tickSize-tickLength-6
	f.axes(s, epochs, values)
	s.write(text{x: (f.left+f.right)/2 - textWidth("epoch", labelSize, false)/2, y: y + panelHeight - panelEdge, size: labelSize, color: inkSoft, s: "epoch"})
	for _, curve := range p.curves {
		curve.draw(s, &f)
	}
	p.head(s, x, y)
}

// axes draws the grid, the axes and their marks.
func (f *frame) axes(s *scene, epochs, values []tick) {
	stroke := func(a, b point, width float64, of bool) {
		c := axisColor
		if of {
			c = gridColor
		}
		s.shape(shape{path: []segment{move(a), line(b)}, stroke: c, width: width})
	}
	for _, t := range epochs {
		x := f.at(point{t.value, f.low}).x
		stroke(point{x, f.top}, point{x, f.bottom}, 0.5, true)
		stroke(point{x, f.bottom}, point{x, f.bottom + tickLength}, 0.8, false)
		s.write(text{x: x - textWidth(t.label, tickSize, false)/2, y: f.bottom + tickLength + tickSize, size: tickSize, color: inkSoft, s: t.label})
	}
	for _, t := range values {
		y := f.at(point{f.first, t.value}).y
		stroke(point{f.left, y}, point{f.right, y}, 0.5, true)
		stroke(point{f.left - tickLength, y}, point{f.left, y}, 0.8, false)
		s.write(text{x: f.left - tickLength - 3 - textWidth(t.label, tickSize, false), y: y + tickSize/3, size: tickSize, color: inkSoft, s: t.label})
	}
	stroke(point{f.left, f.top}, point{f.left, f.bottom}, 0.8, false)
	stroke(point{f.left, f.bottom}, point{f.right, f.bottom}, 0.8, false)
}

// draw draws a curve, with a dot at each value if there are few.
func (c *curveOf) draw(s *scene, f *frame) {
	var path []segment
	for i, v := range c.points {
		at := line(f.at(v))
		if i == 0 {
			at.kind = 'M'
		}
		path = append(path, at)
	}
	if len(path) > 1 {
		s.shape(shape{path: path, stroke: c.color, width: 1.8, dashed: c.dashed})
	}
	if len(c.points) > mostDots {
		return
	}
	const radius = 2.4
	for _, v := range c.points {
		at := f.at(v)
		s.shape(shape{path: roundRect(at.x-radius, at.y-radius, 2*radius, 2*radius, radius, radius), fill: c.color})
	}
}

// head writes the name at the left and the legend at the right of the strip above the curves.
func (p *panel) head(s *scene, x, y float64) {
	baseline := y + 27
	left, right := x+14, x+panelWidth-18
	for _, curve := range slices.Backward(p.curves) {
		right -= textWidth(curve.label, labelSize, false)
		s.write(text{x: right, y: baseline, size: labelSize, color: inkSoft, s: curve.label})
		right -= 30
		s.shape(shape{path: []segment{move(point{right, baseline - 3.5}), line(point{right + 24, baseline - 3.5})}, stroke: curve.color, width: 1.8, dashed: curve.dashed})
		right -= 14
	}
	name := printable(strings.ReplaceAll(p.name, "_", " "))
	for size := 14.0; size > 6; size-- { // long names are written smaller
		if left+textWidth(name, size, true) <= right || size == 7 {
			s.write(text{x: left, y: baseline, size: size, bold: true, color: ink, s: name})
			return
		}
	}
}
