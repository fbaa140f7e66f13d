package lower

import "fmt"

// way says how tensor cores compute a contraction: which part of the result a block computes, and how.
type way struct {
	m, n         int // of a block's tile
	warpM, warpN int // of a warp's part of it, or a warp group's
	stages       int // of shared memory, each of which holds the operands for some k
	group        bool
	bulk         bool // a dedicated warp makes bulk copies of the operands, for warp groups
	slices       int  // number of slices of each stage, which different warps multiply without tensor cores; 0: tensor cores multiply
	depth        int  // of k in a stage; 0: what tensor cores need
}

func (w way) tile() string { return fmt.Sprintf("%dx%d", w.m, w.n) }

// String names the way: the tile, the part of a warp or of a warp group, the stages.
func (w way) String() string {
	name := fmt.Sprintf("%dx%d/%dx%dx%d", w.m, w.n, w.warpM, w.warpN, w.stages)
	if w.group {
		name += "g"
	}
	if w.slices > 0 {
		name += "f"
	}
	if w.bulk {
		name += BulkMark
	}
	return name
}

// BulkMark ends the name of a way with bulk copies.
const BulkMark = "b"

// block is the number of threads that multiply.
func (w way) block() int {
	threads := 32
	if w.group {
		threads = 128
	}
	return w.m / w.warpM * (w.n / w.warpN) * threads * max(1, w.slices)
}

// ahead is how many stages are filled before they are multiplied. Warp-group products overlap the next round's copies,
// and so need another stage.
func (w way) ahead() int {
	if w.group {
		return w.stages - 2
	}
	return w.stages - 1
}

// sharedLimit is the maximum shared memory of a block, by compute capability.
func sharedLimit(capability int) int {
	switch {
	case capability < 80:
		return 48 << 10
	case capability == 80 || capability == 87:
		return 163 << 10
	case capability < 90 || capability >= 120:
		return 99 << 10
	}
	return 227 << 10
}

// ways returns the ways in which a device can compute a contraction, larger tiles first. There is at least one.
func (s *scope) ways(g *gen, c contraction, u *unit) []way {
	limit := sharedLimit(s.options.Capability)
	if s.statistics != nil {
		limit -= statisticsBytes
	}
	stages := 4
	if limit < 128<<10 {
		stages = 3
	}
	var all []way
	add := func(w way) {
		if w.group && s.options.Stages > 0 {
			w.stages = min(w.stages, s.options.Stages)
		}
		if t := g.newTensor(c, u, w); t.sharedBytes() <= limit {
			all = append(all, w)
		}
	}
	if s.options.Hopper && u.size == 2 && c.m >= 64 && c.n >= 64 && s.byChunks(c.a) && s.byChunks(c.b) {
		for _, bulk := range []bool{false, true} {
			if bulk && !s.boxes(c) {
				break
			}
			add(way{128, 256, 64, 256, 4, true, bulk, 0, 0})
			add(way{256, 128, 128, 128, 4, true, bulk, 0, 0})
			add(way{128, 128, 64, 128, 4, true, bulk, 0, 0})
			add(way{64, 256, 64, 256, 4, true, bulk, 0, 0})
			add(way{64, 128, 64, 128, 5, true, bulk, 0, 0})
			add(way{64, 64, 64, 64, 6, true, bulk, 0, 0})
		}
	}
	if u.size == 2 {
		add(way{128, 256, 64, 64, stages, false, false, 0, 0})
	}
	add(way{128, 128, 64, 32, stages, false, false, 0, 0})
	add(way{128, 64, 32, 32, stages, false, false, 0, 0})
	add(way{64, 128, 32, 32, stages, false, false, 0, 0})
	add(way{64, 64, 32, 32, stages, false, false, 0, 0})
	return all
}

// byChunks reports whether 16-byte pieces of an operand can be copied at once.
func (s *scope) byChunks(o side) bool {
	return o.run*s.p.Type(o.value).DType.Size()%chunkBytes == 0 && aligned(s.places[o.value], chunkBytes)
}

// fullDevice is the number of tiles that are enough to occupy a device.
const fullDevice = 128

// usual is the number of the way that is used if nothing was measured: the first one with enough tiles, or else one of
// the smallest. Warp groups multiply several times faster than warps.
func usual(ways []way, c contraction) int {
	tiles := func(w way) int { return (c.m + w.m - 1) / w.m * ((c.n + w.n - 1) / w.n) * c.batch }
	best := 0
	for i, w := range ways {
		if w.group != ways[0].group || w.bulk {
			break
		}
		if wasted := w.m >= 2*c.m || w.n >= 2*c.n; !wasted && tiles(w) >= fullDevice {
			return i
		}
		if tiles(w) > tiles(ways[best]) {
			best = i
		}
	}
	return best
}

// pick is the number of the way to use: the usual one, unless another is known to be faster.
func (s *scope) pick(g *gen, ways []way, usual int) int {
	if s.options.Pick == nil || len(ways) == 1 {
		return usual
	}
	q := Question{Node: g.node, Usual: usual, FLOPs: g.flops}
	for _, v := range g.node.Inputs {
		q.In = append(q.In, s.p.Type(v))
	}
	for _, w := range ways {
		q.Ways = append(q.Ways, w.String())
	}
	if i := s.options.Pick(q); i >= 0 && i < len(ways) {
		return i
	}
	return usual
}
