package cpu

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// This is float32 attention over blocks of keys, with a panel of queries in the lanes of vectors. It computes the
// transpose of the scores, Sᵀ[keys, queries] = K·Qᵀ, and Yᵀ[width, queries] = Vᵀ·Sᵀ. The vectors are therefore full
// whatever the size of the heads, finding a query's largest score and sum of exponentials needs no reduction over
// lanes, and a block of scores stays in the first-level cache. When a block has a larger score, the sums so far are
// rescaled; at the end the result is divided by the sum of the exponentials.

const (
	columnKeys     = 192 // scores of a block of keys: 24 kB
	columnLanes    = 16  // the queries of a panel are computed in groups of this size
	columnGain     = 1.05
	columnMaxDepth = gemm.BlockK / 2
)

// attentionColumns holds the operands of such an attention, and how it is cut up.
type attentionColumns struct {
	*heads
	q, k, v, y, total    *plan.Operand
	panels, block        int // panels of queries; keys of a block
	copies               bool
	queryAt, scoreAt, at int // offsets in scratch memory of the panel's queries, its scores, and the copied keys and values
}

// inColumns reports whether to compute the attention this way. It does so if that leaves no more vector lanes empty
// than products with rows of scores do. The scale must neither vanish nor overflow, because hidden scores must stay
// hidden.
func (h *heads) inColumns(double bool) bool {
	if double || isa.Active() == isa.Portable || !(h.Scale > 0x1p-100 && h.Scale < 0x1p100) ||
		h.queries <= 0 || h.keys <= 0 || h.width <= 0 || h.depth <= 0 || h.depth > columnMaxDepth {
		return false
	}
	filled := func(n, lanes int) float64 { return float64((n+lanes-1)/lanes*lanes) / float64(n) }
	lanes, depth, width := micro.PadColumns[float32](1), float64(h.depth), float64(h.width)
	return filled(h.queries, columnLanes)*(depth+width) <= columnGain*(filled(h.keys, lanes)*depth+filled(h.width, lanes)*width)
}

func buildAttentionColumns(b *build, h *heads) func() {
	c := &attentionColumns{heads: h, q: b.in(0), k: b.in(1), v: b.in(2), y: b.out(0), total: b.out(1)}
	c.panels = (h.queries + vec.Columns - 1) / vec.Columns
	blocks := (h.keys + columnKeys - 1) / columnKeys
	c.block = (h.keys + blocks - 1) / blocks
	c.items = min(max(headItems/max(h.batch*h.heads, 1), 1), c.panels)
	strideK, strideV := h.heads*h.depth, h.heads*h.width
	c.copies = gemm.SpacedRow[float32](strideK) != strideK || gemm.SpacedRow[float32](strideV) != strideV
	c.queryAt = h.width * vec.Columns
	c.scoreAt = c.queryAt + h.depth*vec.Columns
	c.at = c.scoreAt + c.block*vec.Columns
	size := c.at
	if c.copies {
		size += h.keys * (c.rowK() + c.rowV())
	}
	b.rt().need(size * int(unsafe.Sizeof(float32(0))))
	work := h.queries * h.keys * (h.depth + h.width) / c.items
	return b.rt().parallel(h.batch*h.heads*c.items, grain(work/8), func(w *worker, lo, hi int) {
		memory := scratchOf[float32](w, size)
		for item := lo; item < hi; item++ {
			c.item(memory, item, item+1 < hi)
		}
	})
}

// rowK returns the distance between a head's keys, or between their copies if there are any.
func (c *attentionColumns) rowK() int {
	if c.copies {
		return gemm.SpacedRow[float32](c.depth)
	}
	return c.heads.heads * c.depth
}

// rowV is rowK for the values.
func (c *attentionColumns) rowV() int {
	if c.copies {
		return gemm.SpacedRow[float32](c.width)
	}
	return c.heads.heads * c.width
}

// item computes a run of panels of a head. more is set if another item follows.
func (c *attentionColumns) item(memory []float32, item int, more bool) {
	head, part := item/c.items, item%c.items
	bn, hd := head/c.heads.heads, head%c.heads.heads
	k, v := atStep[float32](c.heads, c.k, bn, c.keys, 0, hd, c.depth), atStep[float32](c.heads, c.v, bn, c.keys, 0, hd, c.width)
	if c.copies {
		keys, values := memory[c.at:][:c.keys*c.rowK()], memory[c.at+c.keys*c.rowK():]
		copySteps(keys, k, c.keys, c.depth, c.rowK(), c.heads.heads*c.depth)
		copySteps(values, v, c.keys, c.width, c.rowV(), c.heads.heads*c.width)
		k, v = keys, values
	}
	for panel := part * c.panels / c.items; panel < (part+1)*c.panels/c.items; panel++ {
		if more && (item+1)%c.items == 0 { // of the next head
			fetchHead[float32](c.heads, c.k, head+1, c.keys, c.depth, panel, c.panels)
			fetchHead[float32](c.heads, c.v, head+1, c.keys, c.width, panel, c.panels)
			fetchHead[float32](c.heads, c.q, head+1, c.queries, c.depth, panel, c.panels)
		}
		c.panel(memory, k, v, bn, hd, panel*vec.Columns)
	}
}

// copySteps copies the rows of a head to rows with another stride.
func copySteps(dst, src []float32, rows, size, to, from int) {
	for r := range rows {
		copy(dst[r*to:][:size], src[r*from:])
	}
}

// panel computes the results of a panel of queries that begins at first.
func (c *attentionColumns) panel(memory, k, v []float32, bn, hd, first int) {
	queries := min(vec.Columns, c.queries-first)
	micro.PackPanel(memory[c.queryAt:c.scoreAt], atStep[float32](c.heads, c.q, bn, c.queries, first, hd, c.depth), c.depth, queries, 1, c.heads.heads*c.depth)
	powers := vec.ScoreColumns{Used: queries, Scale: float32(c.Scale)}
	if c.addBlocks(&powers, memory, k, v, bn, hd, first); powers.Coarse() {
		powers.Ready = true
		c.addBlocks(&powers, memory, k, v, bn, hd, first)
	}
	y := memory[:c.queryAt]
	powers.Finish(y)
	micro.Transpose(atStep[float32](c.heads, c.y, bn, c.queries, first, hd, c.width), y, c.width, queries, c.heads.heads*c.width, vec.Columns)
	powers.Totals(plan.Data[float32](c.total)[(bn*c.heads.heads+hd)*c.queries+first:][:queries])
}

// addBlocks sums the values of all blocks of keys for the panel of queries that begins at first.
func (c *attentionColumns) addBlocks(powers *vec.ScoreColumns, memory, k, v []float32, bn, hd, first int) {
	y, q, scores := memory[:c.queryAt], memory[c.queryAt:c.scoreAt], memory[c.scoreAt:c.at]
	powers.Begin()
	seen := c.visible(first + powers.Used)
	lanes := min((powers.Used+columnLanes-1)/columnLanes*columnLanes, vec.Columns)
	for key := 0; key < seen; key += c.block {
		n := min(c.block, seen-key)
		s := scores[:n*vec.Columns]
		micro.Run(&micro.Tile[float32]{A: k[key*c.rowK():], B: q, C: s, Rows: n, Cols: lanes, K: c.depth, Segments: 1, Outer: 1,
			ARow: c.rowK(), AK: 1, BK: vec.Columns, CRow: vec.Columns})
		if powers.Ready {
			vec.Scale(s, s, powers.Scale*math.Log2E)
		}
		c.hide(s, bn, hd, first, powers.Used, key)
		powers.Softmax(s)
		if key > 0 {
			powers.Rescale(y)
		}
		micro.Run(&micro.Tile[float32]{A: v[key*c.rowV():], B: s, C: y, Rows: c.width, Cols: lanes, K: n, Segments: 1, Outer: 1,
			ARow: 1, AK: c.rowV(), BK: vec.Columns, CRow: vec.Columns, Accumulate: key > 0})
	}
}

// hide hides the keys of a block that the queries from first on do not see.
func (c *attentionColumns) hide(s []float32, bn, hd, first, queries, key int) {
	var words [columnKeys]uint32
	n, begin := len(s)/vec.Columns, 0
	seen := words[:n]
	if c.mask != nil {
		at := c.maskStride
		mask := plan.Data[uint8](c.mask)[bn*at[0]+hd*at[1]+first*at[2]+key*at[3]:]
		vec.SeenWords(seen, mask, queries, at[2], at[3])
	} else if !c.Causal {
		return
	}
	if c.Causal {
		later := max(first+1-key, 0) // the first key that some queries do not see
		if c.mask == nil {
			begin = min(later, n)
		}
		for i := later; i < n; i++ {
			word := ^uint32(0) << (key + i - first)
			if c.mask == nil {
				seen[i] = word
			} else {
				seen[i] &= word
			}
		}
	}
	vec.HideColumns(s[begin*vec.Columns:], seen[begin:])
}
