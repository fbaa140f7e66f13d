package plot

// layout is a diagram with positions in the plane of the layout.
type layout struct {
	d     *diagram
	g     *graph
	nodes map[*box]*node
	inner map[*box]*layout
	ins   []*node // ports of a nested model
	outs  []*node

	loops []*node // layers called on their own results

	// What a frame adds around the layout, in the plane.
	beforeU, beforeV, afterU, afterV float64
	u0, v0, width, height            float64 // the layout's corner, and its size including the frame
	titleWidth                       float64
}

const (
	framePad   = 16.0
	frameTitle = 24.0 // height of the title line
	loopSize   = 22.0 // space beside a box for an arrow to itself
)

// sideways reports whether the ranks run horizontally.
func (c *config) sideways() bool { return c.direction == "LR" || c.direction == "RL" }

func newLayout(d *diagram, c *config, nested bool) *layout {
	l := &layout{d: d, g: &graph{}, nodes: map[*box]*node{}, inner: map[*box]*layout{}}
	if nested {
		for range d.inputs {
			l.ins = append(l.ins, l.addNode(&node{w: laneWidth, port: portIn}))
		}
	}
	for _, b := range d.boxes {
		l.nodes[b] = l.addNode(l.size(b, c))
	}
	if nested {
		for range d.outputs {
			l.outs = append(l.outs, l.addNode(&node{w: laneWidth, port: portOut}))
		}
	}
	l.connect()
	l.g.lay()
	var u1, v1 float64
	l.u0, l.v0, u1, v1 = l.g.bounds()
	if nested {
		l.frame(c)
	}
	l.width, l.height = l.beforeU+u1-l.u0+l.afterU, l.beforeV+v1-l.v0+l.afterV
	return l
}

func (l *layout) addNode(n *node) *node {
	l.g.nodes = append(l.g.nodes, n)
	return n
}

// size creates the node of a box, with its size.
func (l *layout) size(b *box, c *config) *node {
	if b.inner != nil {
		inner := newLayout(b.inner, c, true)
		l.inner[b] = inner
		return &node{w: inner.width, h: inner.height, fixed: true}
	}
	b.label = newLabel(b, c)
	if c.sideways() {
		return &node{w: b.label.h, h: b.label.w}
	}
	return &node{w: b.label.w, h: b.label.h}
}

func (l *layout) connect() {
	for i := range l.ins {
		l.wire(l.ins[i], endpoint{}, l.d.inputs[i], i, nil)
	}
	for _, e := range l.d.edges {
		if a := l.nodes[e.from.box]; e.from.box == e.to {
			a.w += 2 * loopSize
			l.loops = append(l.loops, a)
			continue
		}
		l.wire(nil, e.from, e.to, e.toPort, nil)
	}
	for i := range l.outs {
		l.wire(nil, l.d.outputs[i], nil, 0, l.outs[i])
	}
}

// wire connects an entry port, or a result of a box, with an input of a box, or an exit port. An expanded model has
// ports of its own; a Sequential one has a single port, which all of its inputs use.
func (l *layout) wire(in *node, from endpoint, to *box, toPort int, out *node) {
	w := &wire{a: in, b: out}
	if in == nil {
		w.a = l.nodes[from.box]
		if inner := l.inner[from.box]; inner != nil {
			w.outOf = inner.outs[min(from.port, len(inner.outs)-1)]
			w.start = inner.portAt(w.outOf)
		}
	}
	if out == nil {
		w.b = l.nodes[to]
		if inner := l.inner[to]; inner != nil {
			w.into = inner.ins[min(toPort, len(inner.ins)-1)]
			w.end = inner.portAt(w.into)
		}
	}
	l.g.wires = append(l.g.wires, w)
}

// portAt returns the position of a port on the frame, measured from the middle.
func (l *layout) portAt(n *node) float64 { return n.u - l.u0 + l.beforeU - l.width/2 }

// frame reserves the space for a frame and for the name in its upper left corner, which no arrow may cross.
func (l *layout) frame(c *config) {
	l.beforeU, l.afterU, l.beforeV, l.afterV = framePad, framePad, framePad/2, framePad/2
	l.titleWidth = textWidth(l.d.name, titleSize, true) + framePad
	if c.sideways() {
		l.beforeU += frameTitle
		_, v0, _, v1 := l.g.bounds()
		missing := max(0, l.titleWidth+framePad-(v1-v0+framePad))
		l.beforeV, l.afterV = l.beforeV+missing/2, l.afterV+missing/2
		return
	}
	ports := l.ins
	if c.direction == "BT" {
		ports = l.outs
		l.afterV += frameTitle / 2
	} else {
		l.beforeV += frameTitle / 2
	}
	for _, p := range ports {
		l.beforeU = max(l.beforeU, l.titleWidth+2*laneGap-(p.u-l.u0))
	}
}
