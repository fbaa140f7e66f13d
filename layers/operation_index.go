package layers

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func init() {
	define("numpy", "GetItem", "get_item(x, key)", oneResult(getItem))
	define("numpy", "Take", "take(x, indices, *axis=null)", oneResult(func(a *operands) *ops.Tensor {
		indices := whole(a.tensor("indices"))
		return a.alongAxis(a.tensor("x"), func(x *ops.Tensor, axis int) *ops.Tensor { return ops.Take(x, indices, axis) })
	}))
	define("numpy", "TakeAlongAxis", "take_along_axis(x, indices, *axis=null)", oneResult(func(a *operands) *ops.Tensor {
		indices := whole(a.tensor("indices"))
		if !a.given("axis") {
			indices = ops.Ravel(indices)
		}
		return a.alongAxis(a.tensor("x"), func(x *ops.Tensor, axis int) *ops.Tensor { return ops.TakeAlongAxis(x, indices, axis) })
	}))
	define("numpy", "Sort", "sort(x, *axis=-1)", oneResult(func(a *operands) *ops.Tensor { return a.alongAxis(a.tensor("x"), ops.Sort) }))
	define("numpy", "Argsort", "argsort(x, *axis=-1)", oneResult(func(a *operands) *ops.Tensor { return a.alongAxis(a.tensor("x"), ops.Argsort) }))
	define("numpy", "SearchSorted", `searchsorted(sorted_sequence, values, *side="left")`, oneResult(func(a *operands) *ops.Tensor {
		a.refuse("side", "left", "right")
		sorted := a.tensor("sorted_sequence")
		return ops.Searchsorted(sorted, a.like(sorted, "values"), a.text("side") == "right")
	}))
	define("numpy", "Digitize", "digitize(x, bins)", oneResult(func(a *operands) *ops.Tensor { return ops.Digitize(a.pair("x", "bins")) }))
	define("numpy", "UnravelIndex", "unravel_index(indices, *shape)", func(a *operands) []*ops.Tensor {
		return ops.UnravelIndex(whole(a.tensor("indices")), a.integers("shape")...)
	})
	define("math", "TopK", "top_k(x, *k, *sorted=true)", func(a *operands) []*ops.Tensor {
		values, indices := ops.TopK(a.tensor("x"), a.integer("k"))
		return []*ops.Tensor{values, indices}
	})
	define("math", "InTopK", "in_top_k(targets, predictions, *k)", oneResult(func(a *operands) *ops.Tensor {
		return ops.InTopK(a.tensor("targets"), a.tensor("predictions"), a.integer("k"))
	}))
	define("nn", "OneHot", "one_hot(x, *num_classes, *axis=-1, *dtype=null, *sparse=false)", oneResult(oneHot))
	define("nn", "MultiHot", "multi_hot(inputs, *num_classes=null, *axis=-1, *dtype=null, *sparse=false)", oneResult(func(a *operands) *ops.Tensor {
		a.refuse("sparse", false, nil)
		return ops.MultiHotAxis(whole(a.tensor("inputs")), a.integer("num_classes"), a.integer("axis"), a.dtype("dtype", ir.Float32))
	}))
	for class, f := range map[string]func(x, segments *ops.Tensor, count int) *ops.Tensor{
		"SegmentSum": ops.SegmentSum, "SegmentMax": ops.SegmentMax, "SegmentMin": ops.SegmentMin, "SegmentProd": ops.SegmentProd,
	} {
		define("math", class, SnakeCase(class)+"(data, segment_ids, *num_segments=null, *sorted=false)", oneResult(func(a *operands) *ops.Tensor {
			if !a.given("num_segments") {
				ops.Failf(a.graph, "num_segments is needed here: the length of the result cannot depend on the numbers")
			}
			x := a.tensor("data")
			if x.DType() != ir.Bool {
				return f(x, a.tensor("segment_ids"), a.integer("num_segments"))
			}
			return ops.Cast(f(ops.Cast(x, ir.Uint8), a.tensor("segment_ids"), a.integer("num_segments")), ir.Bool)
		}))
	}
	define("core", "Slice", "slice(inputs, start_indices, *shape)", oneResult(func(a *operands) *ops.Tensor {
		x, sizes := a.tensor("inputs"), a.openShape("shape")
		if starts, known := a.values["start_indices"].([]any); known && !slices.ContainsFunc(starts, isTensor) {
			from := a.integers("start_indices")
			if len(from) != x.Rank() || len(sizes) != x.Rank() {
				ops.Failf(a.graph, "slice: start_indices %v and shape %v must have one entry for each axis of %v", from, sizes, x.Shape())
			}
			until := make([]int, len(sizes))
			for i, n := range sizes {
				if until[i] = from[i] + n; n == Unknown {
					until[i] = x.Dim(i)
				}
			}
			return ops.Slice(x, from, until)
		}
		return ops.DynamicSlice(x, a.scalars("start_indices"), sizes...)
	}))
	define("core", "SliceUpdate", "slice_update(inputs, start_indices, updates)", oneResult(func(a *operands) *ops.Tensor {
		return ops.SliceUpdate(a.tensor("inputs"), a.scalars("start_indices"), a.tensor("updates"))
	}))
	define("core", "Scatter", "scatter(indices, values, *shape)", oneResult(func(a *operands) *ops.Tensor {
		return ops.Scatter(whole(a.tensor("indices")), a.tensor("values"), a.integers("shape")...)
	}))
	define("core", "ScatterUpdate", "scatter_update(inputs, indices, updates, *reduction=null)", oneResult(func(a *operands) *ops.Tensor {
		if a.values["reduction"] != nil {
			return ops.ScatterReducePoints(a.tensor("inputs"), whole(a.tensor("indices")), a.tensor("updates"), a.text("reduction"))
		}
		return ops.ScatterUpdatePoints(a.tensor("inputs"), whole(a.tensor("indices")), a.tensor("updates"))
	}))
}

func isTensor(v any) bool {
	_, ok := v.(*ops.Tensor)
	return ok
}

// whole truncates floats to integers, for positions.
func whole(x *ops.Tensor) *ops.Tensor {
	if x.DType().IsFloat() || x.DType() == ir.Bool {
		return ops.Cast(x, ir.Int32)
	}
	return x
}

// scalars returns a vector of positions as one scalar for each.
func (a *operands) scalars(name string) []*ops.Tensor {
	parts := a.list(name)
	for i, p := range parts {
		parts[i] = whole(p)
	}
	return parts
}

func oneHot(a *operands) *ops.Tensor {
	a.refuse("sparse", false, nil)
	y := ops.OneHot(whole(a.tensor("x")), a.integer("num_classes"), a.dtype("dtype", ir.Float32))
	if a.given("axis") {
		y = ops.MoveAxis(y, -1, a.integer("axis"))
	}
	return y
}

// getItem is x[key]: an integer removes its axis, a slice keeps a part of it, None inserts an axis, and a tensor of
// integers gathers along its axis.
func getItem(a *operands) *ops.Tensor {
	x := a.tensor("x")
	keys, many := a.values["key"].([]any)
	if !many {
		keys = []any{a.values["key"]}
	}
	named := 0
	for _, k := range keys {
		if _, all := k.(EllipsisType); k != nil && !all {
			named++
		}
	}
	if named > x.Rank() {
		ops.Failf(a.graph, "the index has %d entries, the tensor %v has %d axes", named, x.Shape(), x.Rank())
	}
	axis, picked := 0, false
	for _, k := range keys {
		switch k := k.(type) {
		case EllipsisType:
			axis += x.Rank() - axis - named
			continue
		case nil:
			x = ops.ExpandDims(x, axis)
			axis++
			continue
		case Slice:
			x = sliceOf(x, axis, k)
			axis++
		case int64:
			n := x.Dim(axis)
			if k < math.MinInt32 || k > math.MaxInt32 || dim.Known(n) && (int(k) < -n || int(k) >= n) {
				ops.Failf(a.graph, "index %d is outside axis %d of %v", k, axis, x.Shape())
			}
			x = ops.Index(x, axis, int(k))
		case *ops.Tensor:
			if picked || !k.DType().IsInteger() {
				ops.Failf(a.graph, "an index can hold one tensor of whole numbers, received %v", k.Type())
			}
			x, picked = ops.Take(x, k, axis), true
			axis += k.Rank()
		default:
			ops.Failf(a.graph, "an index must be a whole number, a slice, an ellipsis, None or a tensor, received %v", k)
		}
		named--
	}
	return x.WithMask(nil)
}

// sliceOf applies a slice with Python's rules to one axis.
func sliceOf(x *ops.Tensor, axis int, s Slice) *ops.Tensor {
	n, step := x.Dim(axis), 1
	if s.Step != nil {
		step = *s.Step
	}
	if step == 0 {
		ops.Failf(x.Graph(), "the step of a slice must not be 0")
	}
	first, last := 0, n // the bounds for positions, by direction
	if step < 0 {
		first, last = -1, dim.Sub(n, 1)
	}
	bound := func(p *int, def int) int {
		if p == nil {
			return def
		}
		v := *p
		if *p < 0 {
			v = dim.Add(v, n)
		}
		return dim.Min(dim.Max(v, first), last)
	}
	if step > 0 {
		from, until := bound(s.Start, 0), bound(s.Stop, n)
		return strided(x, axis, from, dim.Max(until, from), step)
	}
	from, until := bound(s.Start, last), bound(s.Stop, -1)
	count := dim.Max(dim.CeilDiv(dim.Sub(from, until), -step), 0)
	if count == 0 {
		return ops.SliceAxis(x, axis, 0, 0)
	}
	lowest := dim.Sub(from, dim.Mul(dim.Sub(count, 1), -step))
	return ops.Flip(strided(x, axis, lowest, dim.Add(from, 1), -step), axis)
}

func strided(x *ops.Tensor, axis, from, until, step int) *ops.Tensor {
	if step == 1 {
		return ops.SliceAxis(x, axis, from, until)
	}
	start, limit := make([]int, x.Rank()), slices.Clone([]int(x.Shape()))
	stride := ints.Repeat(1, x.Rank())
	start[axis], limit[axis], stride[axis] = from, until, step
	return ops.StridedSlice(x, start, limit, stride)
}
