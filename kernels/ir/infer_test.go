package ir

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func of(d DType, s ...int) Type { return Type{d, s} }
func f32(s ...int) Type         { return of(Float32, s...) }
func i32(s ...int) Type         { return of(Int32, s...) }
func boolean(s ...int) Type     { return of(Bool, s...) }

// rule is one row: what an op makes of operand types, or what it says of wrong ones.
type rule struct {
	op    Op
	attrs Attrs
	in    []Type
	want  string // result types, separated by commas
	err   string
}

func checkRules(t *testing.T, rules []rule) {
	t.Helper()
	for i, r := range rules {
		t.Run(fmt.Sprintf("%d %v%v", i, r.op, r.in), func(t *testing.T) {
			p := New("p")
			var operands []Value
			for _, x := range r.in {
				operands = append(operands, p.AddInput("", x))
			}
			out, err := p.Add("", r.op, r.attrs, operands...)
			if r.err != "" {
				assert.ErrorContains(t, err, r.err)
				return
			}
			require.NoError(t, err)
			var types []string
			for _, v := range out {
				types = append(types, p.Type(v).String())
			}
			assert.Equal(t, r.want, strings.Join(types, ", "))
			assert.NoError(t, p.Verify())
			checkExpands(t, p)
		})
	}
}

func in(types ...Type) []Type { return types }

func TestInferSources(t *testing.T) {
	state := of(Uint32, 4)
	checkRules(t, []rule{
		{op: Constant, attrs: ConstantAttrs{Scalar(Int8, 3, 2, 2)}, want: "int8[2 2]"},
		{op: Constant, attrs: ConstantAttrs{Literal{Type: f32(2), Data: make([]byte, 7)}}, err: "literal of type float32[2] needs 8 bytes, received 7"},
		{op: Constant, attrs: ConstantAttrs{Literal{Type: f32(2), Data: make([]byte, 8), Splat: true}}, err: "needs 4 bytes, received 8"},
		{op: Constant, attrs: ConstantAttrs{}, err: "needs an element type"},
		{op: Constant, attrs: ConstantAttrs{Literal{Type: f32(-1), Data: make([]byte, 4), Splat: true}}, err: "axis lengths of 0 or more"},
		{op: Constant, err: "needs attributes of type ir.ConstantAttrs, received <nil>"},
		{op: Iota, attrs: IotaAttrs{i32(2, 3), 1}, want: "int32[2 3]"},
		{op: Iota, attrs: IotaAttrs{i32(2, 3), 2}, err: "axis 2 is outside shape [2 3] of rank 2"},
		{op: Iota, attrs: IotaAttrs{boolean(3), 0}, err: "iota needs a number type, received bool"},
		{op: Iota, attrs: IotaAttrs{i32(-3), 0}, err: "axis lengths of 0 or more"},
		{op: Iota, err: "needs attributes"},
		{op: RngBits, attrs: RngAttrs{Shape: Shape{5}}, in: in(state), want: "uint32[5]"},
		{op: RngBits, attrs: RngAttrs{Shape: Shape{5}}, in: in(of(Uint32, 2)), err: "the random state must be uint32[4] (seed low, seed high, step, replica), received uint32[2]"},
		{op: RngBits, attrs: RngAttrs{Shape: Shape{-5}}, in: in(state), err: "axis lengths of 0 or more"},
		{op: RngBits, in: in(state), err: "needs attributes"},
	})
}

func TestInferElementwise(t *testing.T) {
	var rules []rule
	for _, op := range Ops() {
		if !op.IsElementwise() || op == Convert || op == Compare || op == Select {
			continue
		}
		operands := func(x Type) []Type {
			if opTable[op].max == 2 {
				return in(x, x)
			}
			return in(x)
		}
		floats, integers, bools := true, false, false
		switch op {
		case Neg, Abs, Sign, Relu, Add, Sub, Mul, Div, Pow, Maximum, Minimum, Rem:
			integers = true
		case Not, BitAnd, BitOr, BitXor:
			floats, integers, bools = false, true, true
		case ShiftLeft, ShiftRight:
			floats, integers = false, true
		case Identity:
			integers, bools = true, true
		}
		for x, ok := range map[DType]bool{Float32: floats, BFloat16: floats, Int8: integers, Uint64: integers, Bool: bools} {
			r := rule{op: op, in: operands(of(x, 2, 3)), want: x.String() + "[2 3]"}
			if op == IsFinite {
				r.want = "bool[2 3]"
			}
			if !ok {
				r.want, r.err = "", "received "+x.String()
			}
			rules = append(rules, r)
		}
		rules = append(rules, rule{op: op, attrs: AxisAttrs{}, in: operands(f32(2)), err: map[bool]string{true: "takes no attributes, received ir.AxisAttrs", false: "received"}[floats]})
		if opTable[op].max == 2 {
			d := Float32
			if !floats {
				d = Int32
			}
			rules = append(rules,
				rule{op: op, in: in(of(d, 2), of(d, 3)), err: "operands must have one type, but operand 0 is"},
				rule{op: op, in: in(of(d, 2), of(Int16, 2)), err: "and operand 1 is int16[2]"})
		}
	}
	checkRules(t, append(rules, []rule{
		{op: Convert, attrs: ConvertAttrs{Int8}, in: in(f32(2)), want: "int8[2]"},
		{op: Convert, attrs: ConvertAttrs{}, in: in(f32(2)), err: "cannot convert to invalid"},
		{op: Convert, in: in(f32(2)), err: "needs attributes"},
		{op: Compare, attrs: CompareAttrs{Lt}, in: in(f32(2), f32(2)), want: "bool[2]"},
		{op: Compare, attrs: CompareAttrs{Eq}, in: in(boolean(), boolean()), want: "bool[]"},
		{op: Compare, attrs: CompareAttrs{"=="}, in: in(f32(2), f32(2)), err: `unknown direction "=="`},
		{op: Compare, attrs: CompareAttrs{Lt}, in: in(f32(2), i32(2)), err: "operands must have one type"},
		{op: Compare, in: in(f32(2), f32(2)), err: "needs attributes"},
		{op: Select, in: in(boolean(2), i32(2), i32(2)), want: "int32[2]"},
		{op: Select, in: in(boolean(), i32(2), i32(2)), err: "predicate must be bool[2], received bool[]"},
		{op: Select, in: in(i32(2), i32(2), i32(2)), err: "predicate must be bool[2], received int32[2]"},
		{op: Select, in: in(boolean(2), i32(2), f32(2)), err: "operands must have one type"},
	}...))
}

func TestInferShape(t *testing.T) {
	x := f32(2, 3)
	start := i32()
	checkRules(t, []rule{
		{op: Reshape, attrs: ReshapeAttrs{Shape{6}}, in: in(x), want: "float32[6]"},
		{op: Reshape, attrs: ReshapeAttrs{Shape{1, 1}}, in: in(f32()), want: "float32[1 1]"},
		{op: Reshape, attrs: ReshapeAttrs{Shape{5}}, in: in(x), err: "cannot reshape [2 3] (6 elements) to [5] (5)"},
		{op: Reshape, attrs: ReshapeAttrs{Shape{-2, -3}}, in: in(x), err: "cannot reshape"},
		{op: Reshape, in: in(x), err: "needs attributes"},
		{op: Transpose, attrs: TransposeAttrs{[]int{1, 0}}, in: in(x), want: "float32[3 2]"},
		{op: Transpose, attrs: TransposeAttrs{}, in: in(f32()), want: "float32[]"},
		{op: Transpose, attrs: TransposeAttrs{[]int{0}}, in: in(x), err: "[0] is not a permutation of the 2 axes of [2 3]"},
		{op: Transpose, attrs: TransposeAttrs{[]int{0, 0}}, in: in(x), err: "is not a permutation"},
		{op: Transpose, attrs: TransposeAttrs{[]int{1, 2}}, in: in(x), err: "is not a permutation"},
		{op: Transpose, attrs: TransposeAttrs{[]int{0, 1, 2}}, in: in(x), err: "is not a permutation"},
		{op: Transpose, in: in(x), err: "needs attributes"},
		{op: Broadcast, attrs: BroadcastAttrs{Shape{4, 2, 3}, []int{1, 2}}, in: in(x), want: "float32[4 2 3]"},
		{op: Broadcast, attrs: BroadcastAttrs{Shape{2, 5}, []int{0, 1}}, in: in(f32(2, 1)), want: "float32[2 5]"},
		{op: Broadcast, attrs: BroadcastAttrs{Shape{2, 3}, []int{0}}, in: in(x), err: "axes [0] must name one result axis for each of the 2 operand axes"},
		{op: Broadcast, attrs: BroadcastAttrs{Shape{3, 2}, []int{1, 0}}, in: in(x), err: "axes [1 0] must be strictly increasing"},
		{op: Broadcast, attrs: BroadcastAttrs{Shape{2, 4}, []int{0, 1}}, in: in(x), err: "axis 1 of [2 3] cannot become axis 1 of [2 4]"},
		{op: Broadcast, attrs: BroadcastAttrs{Shape{2}, []int{0, 1}}, in: in(x), err: "axis 1 is outside shape [2]"},
		{op: Broadcast, attrs: BroadcastAttrs{Shape{-2}, nil}, in: in(f32()), err: "axis lengths of 0 or more"},
		{op: Broadcast, in: in(x), err: "needs attributes"},
		{op: Slice, attrs: SliceAttrs{[]int{0, 1}, []int{2, 3}, []int{2, 1}}, in: in(x), want: "float32[1 2]"},
		{op: Slice, attrs: SliceAttrs{[]int{2, 0}, []int{2, 3}, []int{1, 1}}, in: in(x), want: "float32[0 3]"},
		{op: Slice, attrs: SliceAttrs{[]int{0}, []int{2}, []int{1}}, in: in(x), err: "must have one entry for each axis of [2 3]"},
		{op: Slice, attrs: SliceAttrs{[]int{-1, 0}, []int{2, 3}, []int{1, 1}}, in: in(x), err: "slice -1:2:1 does not fit axis 0 of [2 3]"},
		{op: Slice, attrs: SliceAttrs{[]int{0, 0}, []int{2, 4}, []int{1, 1}}, in: in(x), err: "slice 0:4:1 does not fit axis 1"},
		{op: Slice, attrs: SliceAttrs{[]int{0, 2}, []int{2, 1}, []int{1, 1}}, in: in(x), err: "slice 2:1:1 does not fit axis 1"},
		{op: Slice, attrs: SliceAttrs{[]int{0, 0}, []int{2, 3}, []int{1, 0}}, in: in(x), err: "slice 0:3:0 does not fit axis 1"},
		{op: Slice, in: in(x), err: "needs attributes"},
		{op: Pad, attrs: PadAttrs{[]int{1, 0}, []int{0, -1}, []int{2, 0}}, in: in(x, f32()), want: "float32[5 2]"},
		{op: Pad, attrs: PadAttrs{[]int{1}, []int{1}, []int{3}}, in: in(f32(0), f32()), want: "float32[2]"},
		{op: Pad, attrs: PadAttrs{[]int{1, 0}, []int{0, 0}, []int{0, 0}}, in: in(x, f32(1)), err: "padding value must be a float32 scalar, received float32[1]"},
		{op: Pad, attrs: PadAttrs{[]int{1}, []int{0, 0}, []int{0, 0}}, in: in(x, f32()), err: "must have one entry for each axis of [2 3]"},
		{op: Pad, attrs: PadAttrs{[]int{-3, 0}, []int{0, 0}, []int{0, 0}}, in: in(x, f32()), err: "padding -3, 0, interior 0 does not fit axis 0 of [2 3]"},
		{op: Pad, attrs: PadAttrs{[]int{0, 0}, []int{0, 0}, []int{0, -1}}, in: in(x, f32()), err: "interior -1 does not fit axis 1"},
		{op: Pad, in: in(x, f32()), err: "needs attributes"},
		{op: Concat, attrs: AxisAttrs{1}, in: in(x, f32(2, 0), f32(2, 4)), want: "float32[2 7]"},
		{op: Concat, attrs: AxisAttrs{2}, in: in(x), err: "axis 2 is outside shape [2 3]"},
		{op: Concat, attrs: AxisAttrs{0}, in: in(x, f32(2, 4)), err: "operands must agree in all axes but 0; operand 0 is float32[2 3], operand 1 is float32[2 4]"},
		{op: Concat, attrs: AxisAttrs{0}, in: in(x, i32(2, 3)), err: "operand 1 is int32[2 3]"},
		{op: Concat, attrs: AxisAttrs{0}, in: in(x, f32(2)), err: "operand 1 is float32[2]"},
		{op: Concat, in: in(x), err: "needs attributes"},
		{op: Reverse, attrs: AxesAttrs{[]int{0, 1}}, in: in(x), want: "float32[2 3]"},
		{op: Reverse, attrs: AxesAttrs{[]int{1, 1}}, in: in(x), err: "axes [1 1] must be strictly increasing"},
		{op: Reverse, attrs: AxesAttrs{[]int{-1}}, in: in(x), err: "axis -1 is outside shape [2 3] of rank 2"},
		{op: Reverse, in: in(x), err: "needs attributes"},
		{op: BitCast, attrs: ConvertAttrs{Int32}, in: in(x), want: "int32[2 3]"},
		{op: BitCast, attrs: ConvertAttrs{Uint8}, in: in(x), want: "uint8[2 12]"},
		{op: BitCast, attrs: ConvertAttrs{Float64}, in: in(x), err: "12 bytes, which are no whole number of float64"},
		{op: BitCast, attrs: ConvertAttrs{Bool}, in: in(x), err: "cannot read the bytes of float32 as bool"},
		{op: BitCast, attrs: ConvertAttrs{Int64}, in: in(Type{Float32, nil}), err: "a scalar float32 has no axis"},
		{op: BitCast, in: in(x), err: "needs attributes"},
		{op: DynamicSlice, attrs: DynamicSliceAttrs{[]int{1, 3}}, in: in(x, start, start), want: "float32[1 3]"},
		{op: DynamicSlice, attrs: DynamicSliceAttrs{[]int{1, 3}}, in: in(x, start), err: "needs one start for each axis of [2 3], received 1"},
		{op: DynamicSlice, attrs: DynamicSliceAttrs{[]int{1, 3}}, in: in(x, start, of(Int64)), err: "start 1 must be an int32 scalar, received int64[]"},
		{op: DynamicSlice, attrs: DynamicSliceAttrs{[]int{1}}, in: in(x, start, start), err: "sizes [1] must have one entry for each axis"},
		{op: DynamicSlice, attrs: DynamicSliceAttrs{[]int{1, 4}}, in: in(x, start, start), err: "size 4 does not fit axis 1 of [2 3]"},
		{op: DynamicSlice, attrs: DynamicSliceAttrs{[]int{-1, 3}}, in: in(x, start, start), err: "size -1 does not fit axis 0"},
		{op: DynamicSlice, in: in(x, start, start), err: "needs attributes"},
		{op: DynamicUpdateSlice, in: in(x, f32(1, 3), start, start), want: "float32[2 3]"},
		{op: DynamicUpdateSlice, in: in(x, f32(1, 3), start), err: "needs one start for each axis of [2 3], received 1"},
		{op: DynamicUpdateSlice, in: in(x, f32(3, 3), start, start), err: "update float32[3 3] does not fit axis 0 of operand float32[2 3]"},
		{op: DynamicUpdateSlice, in: in(x, i32(1, 3), start, start), err: "update int32[1 3] does not fit operand float32[2 3]"},
		{op: DynamicUpdateSlice, in: in(x, f32(3), start, start), err: "update float32[3] does not fit operand"},
		{op: DynamicUpdateSlice, attrs: AxisAttrs{}, in: in(x, x, start, start), err: "takes no attributes"},
	})
}

func TestInferContraction(t *testing.T) {
	x := f32(2, 3, 4)
	checkRules(t, []rule{
		{op: Dot, attrs: DotAttrs{LhsContract: []int{2}, RhsContract: []int{0}}, in: in(x, f32(4, 5)), want: "float32[2 3 5]"},
		{op: Dot, attrs: DotAttrs{LhsBatch: []int{0, 1}, RhsBatch: []int{2, 1}, LhsContract: []int{2}, RhsContract: []int{0}}, in: in(x, f32(4, 3, 2, 7)), want: "float32[2 3 7]"},
		{op: Dot, attrs: DotAttrs{}, in: in(i32(2), i32(3)), want: "int32[2 3]"},
		{op: Dot, attrs: DotAttrs{Sums: Int32}, in: in(Type{Int8, Shape{2}}, Type{Int8, Shape{3}}), want: "int32[2 3]"},
		{op: Dot, attrs: DotAttrs{Sums: Int32}, in: in(i32(2), i32(3)), err: "sums of int32 are those of products of int8"},
		{op: Dot, attrs: DotAttrs{Sums: Int64}, in: in(Type{Int8, Shape{2}}, Type{Int8, Shape{3}}), err: "for sums of int64"},
		{op: Dot, attrs: DotAttrs{LhsContract: []int{2}, RhsContract: []int{0}}, in: in(x, f32(5, 4)), err: "contracted axis 2 of [2 3 4] does not fit axis 0 of [5 4]"},
		{op: Dot, attrs: DotAttrs{LhsBatch: []int{0}}, in: in(x, x), err: "batch axes [0] and [] must pair up"},
		{op: Dot, attrs: DotAttrs{LhsContract: []int{3}, RhsContract: []int{0}}, in: in(x, x), err: "contracted axis 3 of [2 3 4]"},
		{op: Dot, attrs: DotAttrs{LhsContract: []int{0}, RhsContract: []int{-1}}, in: in(x, x), err: "does not fit axis -1"},
		{op: Dot, attrs: DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{0}, RhsContract: []int{0}}, in: in(x, x), err: "an axis is used twice in [0 0]"},
		{op: Dot, attrs: DotAttrs{}, in: in(x, i32(2)), err: "operands must be numbers of one type, received float32 and int32"},
		{op: Dot, attrs: DotAttrs{}, in: in(boolean(2), boolean(2)), err: "operands must be numbers"},
		{op: Dot, in: in(x, x), err: "needs attributes"},
		{op: Gather, attrs: GatherAttrs{Axis: 1}, in: in(x, i32(5, 6)), want: "float32[2 5 6 4]"},
		{op: Gather, attrs: GatherAttrs{Axis: 0, Mode: IndexDrop}, in: in(x, of(Uint8)), want: "float32[3 4]"},
		{op: Gather, attrs: GatherAttrs{Axis: 3}, in: in(x, i32(5)), err: "axis 3 is outside shape [2 3 4]"},
		{op: Gather, attrs: GatherAttrs{}, in: in(x, f32(5)), err: "indices must be integers, received float32"},
		{op: Gather, attrs: GatherAttrs{Mode: "wrap"}, in: in(x, i32(5)), err: `unknown index mode "wrap"`},
		{op: Gather, in: in(x, i32(5)), err: "needs attributes"},
		{op: Scatter, attrs: ScatterAttrs{Axis: 1, Kind: Sum}, in: in(x, i32(5), f32(2, 5, 4)), want: "float32[2 3 4]"},
		{op: Scatter, attrs: ScatterAttrs{Kind: Set}, in: in(boolean(2), i32(), boolean()), want: "bool[2]"},
		{op: Scatter, attrs: ScatterAttrs{Kind: Sum}, in: in(boolean(2), i32(), boolean()), err: `kind "sum" does not combine bool`},
		{op: Scatter, attrs: ScatterAttrs{Kind: Sum}, in: in(x, i32(5), f32(2, 5, 4)), err: "updates must be float32[5 3 4], received float32[2 5 4]"},
		{op: Scatter, attrs: ScatterAttrs{Kind: Mean}, in: in(x, i32(), f32(3, 4)), err: `kind "mean" does not combine float32`},
		{op: Scatter, attrs: ScatterAttrs{Kind: Sum, Mode: "wrap"}, in: in(x, i32(), f32(3, 4)), err: "unknown index mode"},
		{op: Scatter, attrs: ScatterAttrs{Kind: Sum}, in: in(x, f32(), f32(3, 4)), err: "indices must be integers"},
		{op: Scatter, attrs: ScatterAttrs{Axis: -1, Kind: Sum}, in: in(x, i32(), f32(3, 4)), err: "axis -1 is outside"},
		{op: Scatter, in: in(x, i32(), f32(3, 4)), err: "needs attributes"},
		{op: Reduce, attrs: ReduceAttrs{Sum, []int{0, 2}}, in: in(x), want: "float32[3]"},
		{op: Reduce, attrs: ReduceAttrs{And, []int{0}}, in: in(boolean(2)), want: "bool[]"},
		{op: Reduce, attrs: ReduceAttrs{Max, nil}, in: in(i32(2)), want: "int32[2]"},
		{op: Reduce, attrs: ReduceAttrs{Sum, []int{2, 0}}, in: in(x), err: "axes [2 0] must be strictly increasing"},
		{op: Reduce, attrs: ReduceAttrs{Sum, []int{3}}, in: in(x), err: "axis 3 is outside"},
		{op: Reduce, attrs: ReduceAttrs{Sum, nil}, in: in(boolean(2)), err: `kind "sum" does not combine bool`},
		{op: Reduce, attrs: ReduceAttrs{Or, nil}, in: in(i32(2)), err: `kind "or" does not combine int32`},
		{op: Reduce, attrs: ReduceAttrs{Mean, nil}, in: in(x), err: `kind "mean" does not combine float32`},
		{op: Reduce, in: in(x), err: "needs attributes"},
		{op: ArgMax, attrs: AxisAttrs{1}, in: in(x), want: "int32[2 4]"},
		{op: ArgMin, attrs: AxisAttrs{0}, in: in(i32(3)), want: "int32[]"},
		{op: ArgMax, attrs: AxisAttrs{0}, in: in(f32(0, 2)), err: "axis 0 of [0 2] is empty, so nothing is largest or smallest"},
		{op: ArgMin, attrs: AxisAttrs{3}, in: in(x), err: "axis 3 is outside"},
		{op: ArgMax, in: in(x), err: "needs attributes"},
		{op: Cumulative, attrs: CumulativeAttrs{Kind: Prod, Axis: 2}, in: in(x), want: "float32[2 3 4]"},
		{op: Cumulative, attrs: CumulativeAttrs{Kind: And}, in: in(boolean(2)), err: `unknown kind "and"`},
		{op: Cumulative, attrs: CumulativeAttrs{Kind: Set}, in: in(x), err: `kind "set" does not combine float32`},
		{op: Cumulative, attrs: CumulativeAttrs{Kind: Sum, Axis: 3}, in: in(x), err: "axis 3 is outside"},
		{op: Cumulative, in: in(x), err: "needs attributes"},
		{op: Sort, attrs: SortAttrs{Axis: 1}, in: in(x), want: "float32[2 3 4], int32[2 3 4]"},
		{op: Sort, attrs: SortAttrs{Axis: 0}, in: in(f32()), err: "axis 0 is outside shape [] of rank 0"},
		{op: Sort, in: in(x), err: "needs attributes"},
		{op: TopK, attrs: TopKAttrs{3}, in: in(x), want: "float32[2 3 3], int32[2 3 3]"},
		{op: TopK, attrs: TopKAttrs{5}, in: in(x), err: "k is 5, which is not between 0 and the length of the last axis of [2 3 4]"},
		{op: TopK, attrs: TopKAttrs{-1}, in: in(x), err: "k is -1"},
		{op: TopK, attrs: TopKAttrs{0}, in: in(f32()), err: "k is 0"},
		{op: TopK, in: in(x), err: "needs attributes"},
	})
}
