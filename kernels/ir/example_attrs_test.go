package ir_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
)

// show prints what an op makes of operands of the given types.
func show(op ir.Op, attrs ir.Attrs, types ...ir.Type) {
	p := ir.New("p")
	operands := make([]ir.Value, len(types))
	for i, t := range types {
		operands[i] = p.AddInput("", t)
	}
	out, err := p.Add("", op, attrs, operands...)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range out {
		fmt.Print(p.Type(v), " ")
	}
	fmt.Println()
}

func f32(shape ...int) ir.Type { return ir.Type{DType: ir.Float32, Shape: shape} }
func i32(shape ...int) ir.Type { return ir.Type{DType: ir.Int32, Shape: shape} }

var rngState = ir.Type{DType: ir.Uint32, Shape: ir.Shape{4}}

func ExampleAttrs() {
	fmt.Println(ir.AttrString(ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0, 2}}))
	// Output: kind=sum axes=[0 2]
}

func ExampleKind() {
	show(ir.Reduce, ir.ReduceAttrs{Kind: ir.And, Axes: []int{0}}, f32(2))
	// Output: ir: reduce[float32[2]]: kind "and" does not combine float32
}

func ExampleDirection() {
	show(ir.Compare, ir.CompareAttrs{Direction: ir.Ge}, f32(2), f32(2))
	// Output: bool[2]
}

func ExampleIndexMode() {
	show(ir.Gather, ir.GatherAttrs{Mode: ir.IndexClip}, f32(5, 2), i32(3))
	// Output: float32[3 2]
}

func ExampleConstantAttrs() {
	show(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 1, 2, 3)})
	// Output: float32[2 3]
}

func ExampleIotaAttrs() {
	show(ir.Iota, ir.IotaAttrs{Type: i32(2, 3), Axis: 1})
	// Output: int32[2 3]
}

func ExampleRngAttrs() {
	show(ir.RngBits, ir.RngAttrs{Shape: ir.Shape{5}, Stream: 1}, rngState)
	// Output: uint32[5]
}

func ExampleConvertAttrs() {
	show(ir.Convert, ir.ConvertAttrs{DType: ir.BFloat16}, f32(2))
	// Output: bfloat16[2]
}

func ExampleCompareAttrs() {
	show(ir.Compare, ir.CompareAttrs{Direction: ir.Eq}, i32(2), i32(2))
	// Output: bool[2]
}

func ExampleReshapeAttrs() {
	show(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{6}}, f32(2, 3))
	// Output: float32[6]
}

func ExampleTransposeAttrs() {
	show(ir.Transpose, ir.TransposeAttrs{Perm: []int{2, 0, 1}}, f32(2, 3, 5))
	// Output: float32[5 2 3]
}

func ExampleBroadcastAttrs() {
	show(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{4, 2, 3}, Axes: []int{1, 2}}, f32(2, 1))
	// Output: float32[4 2 3]
}

func ExampleSliceAttrs() {
	show(ir.Slice, ir.SliceAttrs{Start: []int{1, 0}, Limit: []int{4, 7}, Stride: []int{1, 2}}, f32(5, 7))
	// Output: float32[3 4]
}

func ExamplePadAttrs() {
	show(ir.Pad, ir.PadAttrs{Low: []int{1}, High: []int{-1}, Interior: []int{2}}, f32(4), f32())
	// Output: float32[10]
}

func ExampleAxisAttrs() {
	show(ir.Concat, ir.AxisAttrs{Axis: 1}, f32(2, 3), f32(2, 4))
	// Output: float32[2 7]
}

func ExampleAxesAttrs() {
	show(ir.Reverse, ir.AxesAttrs{Axes: []int{0}}, f32(2, 3))
	// Output: float32[2 3]
}

func ExampleDynamicSliceAttrs() {
	show(ir.DynamicSlice, ir.DynamicSliceAttrs{Sizes: []int{2}}, f32(5), i32())
	// Output: float32[2]
}

func ExampleDotAttrs() {
	batched := ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{2}, RhsContract: []int{1}}
	show(ir.Dot, batched, f32(8, 2, 3), f32(8, 3, 5))
	// Output: float32[8 2 5]
}

func ExampleGatherAttrs() {
	show(ir.Gather, ir.GatherAttrs{Axis: 1}, f32(2, 9, 3), i32(4, 5))
	// Output: float32[2 4 5 3]
}

func ExampleScatterAttrs() {
	show(ir.Scatter, ir.ScatterAttrs{Axis: 0, Kind: ir.Sum}, f32(9, 3), i32(4), f32(4, 3))
	// Output: float32[9 3]
}

func ExampleReduceAttrs() {
	show(ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: []int{0, 2}}, f32(2, 3, 5))
	// Output: float32[3]
}

func ExampleCumulativeAttrs() {
	show(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Sum, Axis: 1, Exclusive: true}, f32(2, 3))
	// Output: float32[2 3]
}

func ExampleSortAttrs() {
	show(ir.Sort, ir.SortAttrs{Axis: 0, Descending: true}, f32(4))
	// Output: float32[4] int32[4]
}

func ExampleTopKAttrs() {
	show(ir.TopK, ir.TopKAttrs{K: 2}, f32(3, 5))
	// Output: float32[3 2] int32[3 2]
}

// counted returns a loop body: the counter c goes up by one and is handed out.
func counted() *ir.Program {
	body := ir.New("count")
	c := body.AddInput("c", i32())
	one, _ := body.Add("", ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Int32, 1)})
	next, _ := body.Add("", ir.Add, nil, c, one[0])
	body.AddOutput("c", next[0])
	return body
}

func ExampleScanAttrs() {
	body := counted()
	body.AddOutput("y", body.Inputs[0].Value)
	show(ir.Scan, ir.ScanAttrs{Body: body, Length: 10, Carry: 1}, i32())
	// Output: int32[] int32[10]
}

func ExampleWhileAttrs() {
	below := ir.New("below 10")
	c := below.AddInput("c", i32())
	ten, _ := below.Add("", ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Int32, 10)})
	more, _ := below.Add("", ir.Compare, ir.CompareAttrs{Direction: ir.Lt}, c, ten[0])
	below.AddOutput("more", more[0])
	show(ir.While, ir.WhileAttrs{Cond: below, Body: counted(), State: 1}, i32())
	// Output: int32[]
}

func ExampleCondAttrs() {
	same := ir.New("same")
	same.AddOutput("c", same.AddInput("c", i32()))
	show(ir.Cond, ir.CondAttrs{Then: counted(), Else: same}, ir.Type{DType: ir.Bool}, i32())
	// Output: int32[]
}

var conv = ir.ConvAttrs{Strides: []int{2, 2}, Dilation: []int{1, 1}, PadLow: []int{0, 0}, PadHigh: []int{1, 1}, Groups: 1}

func ExampleConvAttrs() {
	show(ir.Conv, conv, f32(8, 28, 28, 3), f32(3, 3, 3, 16))
	// Output: float32[8 14 14 16]
}

func ExampleConvGradAttrs() {
	show(ir.ConvInputGrad, ir.ConvGradAttrs{Conv: conv, Shape: ir.Shape{8, 28, 28, 3}}, f32(8, 14, 14, 16), f32(3, 3, 3, 16))
	// Output: float32[8 28 28 3]
}

var pool = ir.PoolAttrs{Window: []int{2, 2}, Strides: []int{2, 2}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}}

func ExamplePoolAttrs() {
	show(ir.MaxPool, pool, f32(8, 28, 28, 16))
	// Output: float32[8 14 14 16]
}

func ExamplePoolGradAttrs() {
	show(ir.AvgPoolGrad, ir.PoolGradAttrs{Pool: pool, Shape: ir.Shape{8, 28, 28, 16}}, f32(8, 14, 14, 16))
	// Output: float32[8 28 28 16]
}

func ExampleNormAttrs() {
	show(ir.BatchNorm, ir.NormAttrs{Epsilon: 1e-3}, f32(8, 14, 14, 16), f32(16), f32(16))
	// Output: float32[8 14 14 16] float32[16] float32[16]
}

func ExampleGroupNormAttrs() {
	show(ir.GroupNorm, ir.GroupNormAttrs{Groups: 4, Epsilon: 1e-3}, f32(8, 14, 14, 16), f32(16), f32(16))
	// Output: float32[8 14 14 16] float32[8 4] float32[8 4]
}

func ExampleDropoutAttrs() {
	show(ir.Dropout, ir.DropoutAttrs{Rate: 0.5, Stream: 3}, f32(8, 64), rngState)
	// Output: float32[8 64]
}

func ExampleAttentionAttrs() {
	show(ir.Attention, ir.AttentionAttrs{Scale: 0.25, Causal: true}, f32(8, 10, 4, 16), f32(8, 10, 4, 16), f32(8, 10, 4, 32))
	// Output: float32[8 10 4 32] float32[8 4 10]
}

func ExamplePackedDotAttrs() {
	scales := ir.Shape{2, 65}
	show(ir.PackedDot, ir.PackedDotAttrs{Columns: 65, Block: 128}, f32(8, 200), ir.Type{DType: ir.Int8, Shape: ir.Shape{200, 33}}, f32(scales...), ir.Type{DType: ir.Int8, Shape: scales})
	// Output: float32[8 65]
}

func ExamplePackedEmbeddingAttrs() {
	show(ir.PackedEmbedding, ir.PackedEmbeddingAttrs{Columns: 65, Bits: 4}, ir.Type{DType: ir.Int8, Shape: ir.Shape{200, 33}}, ir.Type{DType: ir.Int32, Shape: ir.Shape{8, 10}}, f32(200))
	// Output: float32[8 10 65]
}

func ExampleRnnAttrs() {
	gru := ir.RnnAttrs{Cell: "gru", Activation: "tanh", RecurrentActivation: "sigmoid"}
	show(ir.RnnScan, gru, f32(8, 10, 3*32), f32(32, 3*32), f32(3*32), f32(8, 32))
	// Output: float32[8 10 32] float32[8 32]
}

func ExampleOptimizerAttrs() {
	adam := ir.OptimizerAttrs{Rule: "adam", Values: []float64{0.9, 0.999, 1e-7}}
	show(ir.OptimizerUpdate, adam, f32(3, 2), f32(3, 2), f32(), f32(), f32(3, 2), f32(3, 2))
	// Output: float32[3 2] float32[3 2] float32[3 2]
}

func ExampleCollectiveAttrs() {
	show(ir.AllGather, ir.CollectiveAttrs{Replicas: 4, Axis: 0}, f32(3, 2))
	// Output: float32[12 2]
}
