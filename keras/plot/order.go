package plot

import "slices"

// orderRanks finds an order within each rank with few crossings. It begins with the order in which a walk meets the
// nodes, then sweeps down and up, sorting each rank by the mean position of the neighbours and swapping adjacent nodes
// while that helps. The best order found is kept.
func (g *graph) orderRanks() {
	g.walk()
	for _, n := range g.nodes {
		g.ranks[n.rank] = append(g.ranks[n.rank], n)
	}
	for _, rank := range g.ranks {
		slices.SortStableFunc(rank, func(a, b *node) int { return a.met - b.met })
		number(rank)
	}
	best, fewest := g.snapshot(), g.crossings()
	for sweep := 0; sweep < 24 && fewest > 0; sweep++ {
		down := sweep%2 == 0
		for i := range g.ranks {
			if down {
				sortByNeighbours(g.ranks[i], upper)
			} else {
				sortByNeighbours(g.ranks[len(g.ranks)-1-i], lower)
			}
		}
		g.transpose()
		if n := g.crossings(); n < fewest {
			best, fewest = g.snapshot(), n
		}
	}
	g.ranks = best
	for _, rank := range g.ranks {
		number(rank)
	}
}

// walk numbers the nodes depth first from the first rank on, so that connected nodes are side by side.
func (g *graph) walk() {
	count := 0
	seen := map[*node]bool{}
	for _, root := range g.nodes {
		if len(root.up) > 0 {
			continue
		}
		pending := []*node{root}
		for len(pending) > 0 {
			n := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			if seen[n] {
				continue
			}
			seen[n] = true
			n.met = count
			count++
			for _, l := range slices.Backward(n.down) {
				pending = append(pending, l.b)
			}
		}
	}
}

func number(rank []*node) {
	for i, n := range rank {
		n.index = i
	}
}

func (g *graph) snapshot() [][]*node {
	out := make([][]*node, len(g.ranks))
	for i, rank := range g.ranks {
		out[i] = slices.Clone(rank)
	}
	return out
}

// upper and lower return the neighbours of a node on the previous and the next rank.
func upper(n *node) []*node {
	out := make([]*node, len(n.up))
	for i, l := range n.up {
		out[i] = l.a
	}
	return out
}

func lower(n *node) []*node {
	out := make([]*node, len(n.down))
	for i, l := range n.down {
		out[i] = l.b
	}
	return out
}

// sortByNeighbours sorts a rank by the mean position of the neighbours. Nodes without neighbours keep their positions.
func sortByNeighbours(rank []*node, neighbours func(*node) []*node) {
	mean := make(map[*node]float64, len(rank))
	var movable []*node
	for _, n := range rank {
		all := neighbours(n)
		if len(all) == 0 {
			continue
		}
		sum := 0
		for _, m := range all {
			sum += m.index
		}
		mean[n] = float64(sum) / float64(len(all))
		movable = append(movable, n)
	}
	slices.SortStableFunc(movable, func(a, b *node) int {
		switch {
		case mean[a] < mean[b]:
			return -1
		case mean[a] > mean[b]:
			return 1
		}
		return 0
	})
	next := 0
	for i, n := range rank {
		if _, moves := mean[n]; moves {
			rank[i] = movable[next]
			next++
		}
	}
	number(rank)
}

// transpose swaps adjacent nodes on a rank while that removes crossings.
func (g *graph) transpose() {
	for round, better := 0, true; better && round < 8; round++ {
		better = false
		for _, rank := range g.ranks {
			for i := 0; i+1 < len(rank); i++ {
				a, b := rank[i], rank[i+1]
				gain := inversions(upper(a), upper(b)) + inversions(lower(a), lower(b)) -
					inversions(upper(b), upper(a)) - inversions(lower(b), lower(a))
				if gain > 0 {
					rank[i], rank[i+1] = b, a
					a.index, b.index = b.index, a.index
					better = true
				}
			}
		}
	}
}

// inversions counts the crossings between the edges of two nodes if the first is to the left of the second.
func inversions(left, right []*node) int {
	n := 0
	for _, a := range left {
		for _, b := range right {
			if a.index > b.index {
				n++
			}
		}
	}
	return n
}

// crossings counts all crossings: the inversions among the lower ends of each rank's links, in the order of their upper
// ends.
func (g *graph) crossings() int {
	total := 0
	for r, rank := range g.ranks {
		if r+1 == len(g.ranks) {
			break
		}
		seen := make([]int, len(g.ranks[r+1])+1) // a Fenwick tree over the positions of the lower ends
		passed := 0
		for _, n := range rank {
			for _, m := range lower(n) { // those that came earlier and end to the right of m cross
				total += passed
				for i := m.index + 1; i > 0; i -= i & -i {
					total -= seen[i]
				}
			}
			for _, m := range lower(n) {
				passed++
				for i := m.index + 1; i < len(seen); i += i & -i {
					seen[i]++
				}
			}
		}
	}
	return total
}
