package plot

import (
	"cmp"
	"math"
	"slices"
)

const (
	nodeGap   = 26.0 // between boxes on a rank
	laneWidth = 12.0
	laneGap   = 8.0 // beside an edge that passes through a rank
	rankGap   = 34.0
	portStep  = 16.0 // between the arrows that enter a box
)

// lay computes the whole layout.
func (g *graph) lay() {
	g.breakCycles()
	g.rankNodes()
	g.split()
	g.orderRanks()
	g.choosePorts()
	g.placeAlong()
	g.placeRanks()
}

// choosePorts spreads the arrows that enter a box. If just one of them comes straight from the previous rank, it gets
// the middle and the others go beside it. Otherwise they are spread evenly.
func (g *graph) choosePorts() {
	for _, n := range g.nodes {
		if n.lane || n.fixed || len(n.up) < 2 {
			continue
		}
		links := slices.Clone(n.up)
		slices.SortStableFunc(links, func(a, b *link) int { return cmp.Compare(a.a.index, b.a.index) })
		middle, straight := float64(len(links)-1)/2, 0
		for i, l := range links {
			if !l.a.lane {
				if straight++; straight == 1 {
					middle = float64(i)
				} else {
					middle = float64(len(links)-1) / 2
				}
			}
		}
		reach := max(middle, float64(len(links)-1)-middle)
		step := min(portStep, (n.w/2-8)/reach)
		for i, l := range links {
			l.end = (float64(i) - middle) * step
		}
	}
}

// placeAlong finds the positions within the ranks: first as close together as possible, then by sweeps, each of which
// moves the nodes of a rank to the best positions for the neighbours on one side or on both.
func (g *graph) placeAlong() {
	for _, rank := range g.ranks {
		for i, n := range rank {
			if n.u = 0; i > 0 {
				n.u = rank[i-1].u + distance(rank[i-1], n)
			}
		}
		shift := 0.0
		if len(rank) > 0 {
			shift = rank[len(rank)-1].u / 2
		}
		for _, n := range rank {
			n.u -= shift
		}
	}
	const sweeps = 20
	for range sweeps {
		for _, rank := range g.ranks {
			settle(rank, wishes(true, false))
		}
		for _, rank := range slices.Backward(g.ranks) {
			settle(rank, wishes(false, true))
		}
	}
	for range sweeps {
		for _, rank := range g.ranks {
			settle(rank, wishes(true, true))
		}
		for _, rank := range slices.Backward(g.ranks) {
			settle(rank, wishes(true, true))
		}
	}
	for _, rank := range g.ranks {
		settle(rank, straightDown)
	}
	for _, rank := range slices.Backward(g.ranks) {
		settle(rank, straightUp)
	}
}

// distance returns the minimum distance between the centres of two neighbours on a rank.
func distance(a, b *node) float64 {
	gap := nodeGap
	if a.lane || b.lane || a.port != 0 || b.port != 0 {
		gap = laneGap
	}
	return a.w/2 + gap + b.w/2
}

// settle moves the nodes of a rank to the positions that minimize the sum of weight·(u − wish)², keeping their order
// and minimum distances. Without minimum distances each node would go to its wish; with them the problem is an isotonic
// regression, which pooling adjacent violators solves exactly.
func settle(rank []*node, wish func(*node) (u, weight float64)) {
	type block struct{ sum, weight, mean, count float64 }
	var blocks []block
	at := 0.0 // position of the node when all are as close together as possible
	starts := make([]float64, len(rank))
	for i, n := range rank {
		if i > 0 {
			at += distance(rank[i-1], n)
		}
		starts[i] = at
		u, weight := wish(n)
		b := block{sum: weight * (u - at), weight: weight, mean: u - at, count: 1}
		for len(blocks) > 0 && blocks[len(blocks)-1].mean > b.mean {
			last := blocks[len(blocks)-1]
			blocks = blocks[:len(blocks)-1]
			b.sum, b.weight, b.count = b.sum+last.sum, b.weight+last.weight, b.count+last.count
			b.mean = b.sum / b.weight
		}
		blocks = append(blocks, b)
	}
	i := 0
	for _, b := range blocks {
		for range int(b.count) {
			rank[i].u = starts[i] + b.mean
			i++
		}
	}
}

// wishes returns the weighted mean of the positions that a node's links to the ranks above or below ask for. Each node
// also has a weak wish to stay.
func wishes(above, below bool) func(*node) (u, weight float64) {
	const stay = 1e-3
	return func(n *node) (float64, float64) {
		sum, weight := stay*n.u, stay
		if above {
			for _, l := range n.up {
				w := l.weight()
				sum += w * (l.a.u + l.start - l.end)
				weight += w
			}
		}
		if below {
			for _, l := range n.down {
				w := l.weight()
				sum += w * (l.b.u + l.end - l.start)
				weight += w
			}
		}
		return sum / weight, weight
	}
}

// straightDown wishes that a box is exactly below the previous one in a chain, and, weakly, that a lane of a long edge
// is below the previous lane. Other nodes stay.
func straightDown(n *node) (u, weight float64) {
	for _, l := range n.up {
		if l.weight() >= 8 {
			if n.lane {
				return l.a.u, 1
			}
			return l.a.u + l.start - l.end, 1000
		}
	}
	return n.u, 1
}

// straightUp wishes that a lane of a long edge is above the next lane; boxes stay.
func straightUp(n *node) (u, weight float64) {
	if n.lane && n.down[0].b.lane {
		return n.down[0].b.u, 1
	}
	return n.u, 1000
}

// weight says how important it is that a link is straight: most along a chain, even where edges that skip it leave or
// join it, and inside long edges; least where a long edge bends to meet a box.
func (l *link) weight() float64 {
	switch {
	case l.a.lane && l.b.lane:
		return 8
	case l.a.lane || l.b.lane:
		return 0.5
	case boxes(l.a.down, func(l *link) *node { return l.b }) == 1 && boxes(l.b.up, func(l *link) *node { return l.a }) == 1:
		return 12
	}
	return 2
}

// boxes counts the links whose other end is not a lane.
func boxes(links []*link, other func(*link) *node) int {
	n := 0
	for _, l := range links {
		if !other(l).lane {
			n++
		}
	}
	return n
}

// placeRanks stacks the ranks. If edges go far to the side, the gap between two ranks is larger, so that they stay
// apart.
func (g *graph) placeRanks() {
	at := 0.0
	for _, rank := range g.ranks {
		size := 0.0
		for _, n := range rank {
			size = max(size, n.h)
		}
		g.tops, g.sizes = append(g.tops, at), append(g.sizes, size)
		farthest := 0.0
		for _, n := range rank {
			n.v = at + size/2
			for _, l := range n.down {
				farthest = max(farthest, math.Abs(l.b.u+l.end-n.u-l.start))
			}
		}
		at += size + rankGap + min(70, 0.1*farthest)
	}
}

// bounds returns the rectangle of all nodes.
func (g *graph) bounds() (u0, v0, u1, v1 float64) {
	u0, u1 = math.Inf(1), math.Inf(-1)
	for _, n := range g.nodes {
		u0, u1 = min(u0, n.u-n.w/2), max(u1, n.u+n.w/2)
	}
	last := len(g.ranks) - 1
	return u0, 0, u1, g.tops[last] + g.sizes[last]
}
