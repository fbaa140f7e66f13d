package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// newProduct measures a single product, by its key: product-MxNxK-FORM:DTYPE, where FORM says whether the left and the
// right matrix are stored as they are (n) or transposed (t); batched-BxMxNxK-FORM:DTYPE; attention-BxTxHxD:DTYPE with
// causal masks; dense-BATCHxFEATURESxUNITS:MODE, a Dense layer that predicts in float32, mixed_bfloat16, int8 or int4.
// It returns nil for keys of other kinds.
func newProduct(key string) (*job, error) {
	name, dtype, _ := strings.Cut(key, ":")
	kind, rest, _ := strings.Cut(name, "-")
	size, form, _ := strings.Cut(rest, "-")
	var n []int
	for part := range strings.SplitSeq(size, "x") {
		var v int
		if _, err := fmt.Sscan(part, &v); err != nil {
			return nil, nil
		}
		n = append(n, v)
	}
	switch {
	case kind == "product" && len(n) == 3:
		return matrices(key, []int{1, n[0], n[1], n[2]}, form, dtype)
	case kind == "batched" && len(n) == 4:
		return matrices(key, n, form, dtype)
	case kind == "attention" && len(n) == 4:
		t := ir.Type{DType: dtypes[dtype], Shape: n}
		return function(key, 2*float64(n[0]*n[1]*n[1]*n[2]*n[3]), func(in []*ops.Tensor) *ops.Tensor {
			return ops.Attention(in[0], in[1], in[2], nil, 1/math.Sqrt(float64(n[3])), true)
		}, t, t, t)
	case kind == "dense" && len(n) == 3:
		return dense(key, n[0], n[1], n[2], dtype)
	}
	return nil, nil
}

var dtypes = map[string]ir.DType{"float32": ir.Float32, "bfloat16": ir.BFloat16, "float16": ir.Float16}

// matrices multiplies a batch of matrices, of a batch, rows, columns and sums.
func matrices(key string, n []int, form, dtype string) (*job, error) {
	a, b := ir.Shape{n[0], n[1], n[3]}, ir.Shape{n[0], n[3], n[2]}
	turnA, turnB := form[0] == 't', form[1] == 't'
	if turnA {
		a[1], a[2] = a[2], a[1]
	}
	if turnB {
		b[1], b[2] = b[2], b[1]
	}
	axes := []int{0, 2, 1}
	if n[0] == 1 {
		a, b, axes = a[1:], b[1:], []int{1, 0}
	}
	t := dtypes[dtype]
	return function(key, 2*float64(n[0]*n[1]*n[2]*n[3]), func(in []*ops.Tensor) *ops.Tensor {
		x, y := in[0], in[1]
		if turnA {
			x = ops.Transpose(x, axes...)
		}
		if turnB {
			y = ops.Transpose(y, axes...)
		}
		return ops.Matmul(x, y)
	}, ir.Type{DType: t, Shape: a}, ir.Type{DType: t, Shape: b})
}

// function measures a compiled function of random numbers.
func function(key string, flops float64, f func(in []*ops.Tensor) *ops.Tensor, types ...ir.Type) (*job, error) {
	fn := distribute.NewFunction(distribute.Default(), key, func(_ *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{f(in)}
	})
	inst, err := fn.Acquire([][]ir.Type{types}, []int{types[0].Shape[0]})
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i, t := range types {
		values := make([]float64, t.Shape.Size())
		for j := range values {
			values[j] = r.NormFloat64()
		}
		a, err := kernels.FromFloat64s(t.DType, t.Shape, values)
		if err == nil {
			err = inst.Input(0, i).Write(a.Data)
		}
		if err != nil {
			return nil, err
		}
	}
	step := uint32(0)
	return timed(key, flops, func() error {
		step++
		return inst.Run(runs, 1, step)
	}), nil
}

func timed(key string, flops float64, step func() error) *job {
	return &job{key: key, work: &workload{unit: "step", units: 1}, units: 1, flops: flops, run: func() (int, float64, error) {
		begin := time.Now()
		err := step()
		return 1, time.Since(begin).Seconds(), err
	}}
}

// dense predicts with a Dense layer in a mode.
func dense(key string, batch, features, units int, mode string) (*job, error) {
	options := []keras.Option{keras.InputShape(features)}
	if strings.HasPrefix(mode, "mixed") {
		options = append(options, keras.DTypePolicy(mode))
	}
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: units}}, options...)
	if err != nil {
		return nil, err
	}
	switch mode {
	case "int8":
		err = m.Quantize(mode)
	case "int4":
		err = m.Quantize(&quantizers.Int4QuantizationConfig{BlockSize: 128})
	}
	if err != nil {
		return nil, err
	}
	x := data.Arrays([]data.Array{floats(source(), batch, features)}, nil)
	y, err := m.PredictOnBatch(runs, x)
	if err != nil {
		return nil, err
	}
	return timed(key, 2*float64(batch*features*units), func() error { return m.PredictOnBatchInto(runs, x, y) }), nil
}
