package layers

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func joinOf(f func(xs ...*ops.Tensor) *ops.Tensor) func(*operands) []*ops.Tensor {
	return oneResult(func(a *operands) *ops.Tensor { return f(a.list("xs")...) })
}

func init() {
	define("numpy", "Reshape", "reshape(x, *newshape)", oneResult(func(a *operands) *ops.Tensor { return ops.Reshape(a.tensor("x"), a.openShape("newshape")...) }))
	define("numpy", "Ravel", "ravel(x)", unaryOf(ops.Ravel))
	define("numpy", "Transpose", "transpose(x, *axes=null)", oneResult(func(a *operands) *ops.Tensor {
		return ops.Transpose(a.tensor("x"), a.integers("axes")...)
	}))
	define("numpy", "Moveaxis", "moveaxis(x, *source, *destination)", oneResult(moveAxes))
	define("numpy", "Swapaxes", "swapaxes(x, *axis1, *axis2)", oneResult(func(a *operands) *ops.Tensor {
		return ops.SwapAxes(a.tensor("x"), a.integer("axis1"), a.integer("axis2"))
	}))
	define("numpy", "ExpandDims", "expand_dims(x, *axis)", oneResult(expandDims))
	define("numpy", "Squeeze", "squeeze(x, *axis=null)", oneResult(func(a *operands) *ops.Tensor { return ops.Squeeze(a.tensor("x"), a.integers("axis")...) }))
	define("numpy", "BroadcastTo", "broadcast_to(x, *shape)", oneResult(func(a *operands) *ops.Tensor {
		x := a.tensor("x")
		shape := a.openShape("shape")
		for i, d := range shape { // an open axis of the shape is the one that x has there
			if from := i - (len(shape) - x.Rank()); d == Unknown && from >= 0 {
				shape[i] = x.Dim(from)
			}
		}
		return ops.BroadcastTo(x, shape...)
	}))
	define("numpy", "Concatenate", "concatenate(xs, *axis=0)", oneResult(func(a *operands) *ops.Tensor { return ops.Concatenate(a.integer("axis"), a.list("xs")...) }))
	define("numpy", "Stack", "stack(x, *axis=0)", oneResult(func(a *operands) *ops.Tensor { return ops.Stack(a.integer("axis"), a.list("x")...) }))
	define("numpy", "Append", "append(x1, x2, *axis=null)", oneResult(func(a *operands) *ops.Tensor {
		x, y := a.pair("x1", "x2")
		if !a.given("axis") {
			return ops.Append(ops.Ravel(x), ops.Ravel(y), 0)
		}
		return ops.Append(x, y, a.integer("axis"))
	}))
	define("numpy", "Hstack", "hstack(xs)", joinOf(ops.Hstack))
	define("numpy", "Vstack", "vstack(xs)", joinOf(ops.Vstack))
	define("numpy", "Dstack", "dstack(xs)", joinOf(ops.Dstack))
	define("numpy", "Split", "split(x, *indices_or_sections, *axis=0)", func(a *operands) []*ops.Tensor { return a.split(a.tensor("x"), a.integer("axis"), ops.Split) })
	define("numpy", "ArraySplit", "array_split(x, *indices_or_sections, *axis=0)", func(a *operands) []*ops.Tensor {
		return a.split(a.tensor("x"), a.integer("axis"), ops.ArraySplit)
	})
	define("numpy", "Hsplit", "hsplit(x, *indices_or_sections)", func(a *operands) []*ops.Tensor {
		x := a.tensor("x")
		return a.split(x, min(x.Rank(), 2)-1, ops.Split)
	})
	define("numpy", "Vsplit", "vsplit(x, *indices_or_sections)", func(a *operands) []*ops.Tensor { return a.split(a.tensor("x"), 0, ops.Split) })
	define("numpy", "Dsplit", "dsplit(x, *indices_or_sections)", func(a *operands) []*ops.Tensor { return a.split(a.tensor("x"), 2, ops.Split) })
	define("core", "Unstack", "unstack(x, *num=null, *axis=0)", func(a *operands) []*ops.Tensor {
		x, axis := a.tensor("x"), a.integer("axis")
		if a.given("num") && !dim.MayEqual(a.integer("num"), x.Dim(axis)) {
			ops.Failf(a.graph, "unstack: num is %d, axis %d of %v has length %d", a.integer("num"), axis, x.Shape(), x.Dim(axis))
		}
		a.bounded("the number of results", x.Dim(axis), maxParts)
		return ops.Unstack(x, axis)
	})
	define("numpy", "Flip", "flip(x, *axis=null)", oneResult(func(a *operands) *ops.Tensor {
		x := a.tensor("x")
		return ops.Flip(x, a.axes("axis", x)...)
	}))
	define("numpy", "Fliplr", "fliplr(x)", unaryOf(ops.Fliplr))
	define("numpy", "Flipud", "flipud(x)", unaryOf(ops.Flipud))
	define("numpy", "Rot90", "rot90(array, *k=1, *axes=[0,1])", oneResult(func(a *operands) *ops.Tensor {
		axes := a.integers("axes")
		if len(axes) != 2 {
			a.fail("axes", "two axes")
		}
		return ops.Rot90(a.tensor("array"), a.integer("k"), axes[0], axes[1])
	}))
	define("numpy", "Roll", "roll(x, *shift, *axis=null)", oneResult(roll))
	define("numpy", "Repeat", "repeat(x, *repeats, *axis=null)", oneResult(repeat))
	define("numpy", "Tile", "tile(x, *repeats)", oneResult(func(a *operands) *ops.Tensor { return ops.Tile(a.tensor("x"), a.integers("repeats")...) }))
	define("numpy", "Pad", `pad(x, *pad_width, *mode="constant", constant_values=null)`, oneResult(pad))
	define("numpy", "Tril", "tril(x, *k=0)", oneResult(func(a *operands) *ops.Tensor { return ops.Tril(a.tensor("x"), a.integer("k")) }))
	define("numpy", "Triu", "triu(x, *k=0)", oneResult(func(a *operands) *ops.Tensor { return ops.Triu(a.tensor("x"), a.integer("k")) }))
	define("numpy", "Diag", "diag(x, *k=0)", oneResult(func(a *operands) *ops.Tensor {
		x := a.tensor("x")
		if x.Rank() == 1 {
			return ops.Diagflat(x, a.integer("k"))
		}
		return ops.DiagonalAt(x, a.integer("k"), 0, 1)
	}))
	define("numpy", "Diagflat", "diagflat(x, *k=0)", oneResult(func(a *operands) *ops.Tensor { return ops.Diagflat(a.tensor("x"), a.integer("k")) }))
	define("numpy", "Diagonal", "diagonal(x, *offset=0, *axis1=0, *axis2=1)", oneResult(diagonal))
	define("numpy", "Meshgrid", `meshgrid(...x, *indexing="xy")`, func(a *operands) []*ops.Tensor {
		a.refuse("indexing", "xy", "ij")
		xs := a.asTensors("x", a.rest)
		for i := range xs {
			xs[i] = ops.Ravel(xs[i])
		}
		return ops.Meshgrid(a.text("indexing") == "xy", xs...)
	})
	define("numpy", "Vander", "vander(x, *N=null, *increasing=false)", oneResult(func(a *operands) *ops.Tensor {
		x := a.tensor("x")
		if x.Rank() != 1 {
			ops.Failf(a.graph, "vander: needs a vector, received shape %v", x.Shape())
		}
		n := x.Dim(0)
		if a.given("N") {
			n = a.integer("N")
		}
		a.bounded("N", n, maxParts)
		return ops.Vander(x, n, a.boolean("increasing"))
	}))
}

// openShape returns a shape in which None, or -1, leaves one length open.
func (a *operands) openShape(name string) []int {
	list, ok := a.values[name].([]any)
	if !ok {
		return a.integers(name)
	}
	closed := slices.Clone(list)
	for i, e := range closed {
		if e == nil {
			closed[i] = int64(Unknown)
		}
	}
	return (&operands{graph: a.graph, values: map[string]any{name: closed}}).integers(name)
}

func (a *operands) split(x *ops.Tensor, axis int, equally func(x *ops.Tensor, parts, axis int) []*ops.Tensor) []*ops.Tensor {
	if _, many := a.values["indices_or_sections"].([]any); many {
		return ops.SplitAt(x, a.integers("indices_or_sections"), axis)
	}
	a.bounded("the number of results", a.integer("indices_or_sections"), maxParts)
	return equally(x, a.integer("indices_or_sections"), axis)
}

func moveAxes(a *operands) *ops.Tensor {
	x, from, to := a.tensor("x"), a.integers("source"), a.integers("destination")
	if len(from) != len(to) {
		ops.Failf(a.graph, "moveaxis: source %v and destination %v must have equal lengths", from, to)
	}
	order := make([]int, x.Rank())
	for i := range order {
		order[i] = Unknown
	}
	for i := range from {
		from[i], to[i] = x.Axis(from[i]), x.Axis(to[i])
		if slices.Contains(from[:i], from[i]) || slices.Contains(to[:i], to[i]) {
			ops.Failf(a.graph, "moveaxis: an axis occurs twice in source %v or destination %v", from, to)
		}
		order[to[i]] = from[i]
	}
	next := 0
	for i := range order {
		for order[i] == Unknown {
			if !slices.Contains(from, next) {
				order[i] = next
			}
			next++
		}
	}
	return ops.Transpose(x, order...)
}

func expandDims(a *operands) *ops.Tensor {
	x, axes := a.tensor("x"), a.integers("axis")
	rank := x.Rank() + len(axes)
	for i, axis := range axes {
		if axis < -rank || axis >= rank {
			ops.Failf(a.graph, "expand_dims: axis %d is not one of the %d axes of the result", axis, rank)
		}
		axes[i] = (axis + rank) % rank
	}
	slices.Sort(axes)
	for _, axis := range axes {
		x = ops.ExpandDims(x, axis)
	}
	return x
}

func roll(a *operands) *ops.Tensor {
	x, shifts := a.tensor("x"), a.integers("shift")
	if !a.given("axis") {
		total := 0
		for _, s := range shifts {
			total += s
		}
		return ops.Reshape(ops.Roll(ops.Ravel(x), total, 0), x.Shape()...)
	}
	axes := a.integers("axis")
	if len(axes) == 0 || len(shifts) == 0 {
		return x
	}
	for i := range max(len(axes), len(shifts)) {
		x = ops.Roll(x, shifts[min(i, len(shifts)-1)], axes[min(i, len(axes)-1)])
	}
	return x
}

func repeat(a *operands) *ops.Tensor {
	counts := a.integers("repeats")
	return a.alongAxis(a.tensor("x"), func(x *ops.Tensor, axis int) *ops.Tensor {
		if len(counts) == 1 {
			return ops.Repeat(x, counts[0], axis)
		}
		total := 0
		for _, n := range counts {
			a.bounded("the number of repeats", max(n, total), maxTable)
			total += n
		}
		a.bounded("the number of repeats", total, maxTable)
		return ops.RepeatEach(x, counts, axis)
	})
}

func pad(a *operands) *ops.Tensor {
	x := a.tensor("x")
	low, high := make([]int, x.Rank()), make([]int, x.Rank())
	widths, _ := a.values["pad_width"].([]any)
	for i := range low {
		var w any = a.values["pad_width"]
		switch {
		case len(widths) == 0:
		case len(widths) == 2 && isNumber(widths[0]) || len(widths) == 1 && isNumber(widths[0]):
			w = widths
		case len(widths) == x.Rank():
			w = widths[i]
		case len(widths) == 1:
			w = widths[0]
		default:
			a.fail("pad_width", "one pair for each axis")
		}
		ends := (&operands{graph: a.graph, values: map[string]any{"pad_width": w}}).integers("pad_width")
		if len(ends) < 1 || len(ends) > 2 {
			a.fail("pad_width", "one pair for each axis")
		}
		low[i], high[i] = ends[0], ends[len(ends)-1]
	}
	if mode := a.text("mode"); mode != "constant" {
		for i, n := range x.Shape() {
			a.bounded("the length of a padded axis", dim.Add(low[i], n, high[i]), maxTable)
		}
		return ops.PadMode(x, low, high, mode)
	}
	if !a.given("constant_values") {
		return ops.Pad(x, low, high, 0)
	}
	return ops.PadWith(x, low, high, ops.Cast(a.like(x, "constant_values"), x.DType()))
}

func isNumber(v any) bool {
	_, ok := v.(int64)
	return ok
}
