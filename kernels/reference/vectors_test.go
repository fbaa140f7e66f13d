package reference_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// attributes gives the attribute type of each op that has one in the vectors.
var attributes = map[string]any{
	"convert": ir.ConvertAttrs{}, "compare": ir.CompareAttrs{}, "reshape": ir.ReshapeAttrs{}, "transpose": ir.TransposeAttrs{},
	"broadcast": ir.BroadcastAttrs{}, "slice": ir.SliceAttrs{}, "pad": ir.PadAttrs{}, "concat": ir.AxisAttrs{}, "reverse": ir.AxesAttrs{},
	"dynamic_slice": ir.DynamicSliceAttrs{}, "dot": ir.DotAttrs{}, "gather": ir.GatherAttrs{}, "scatter": ir.ScatterAttrs{},
	"reduce": ir.ReduceAttrs{}, "argmax": ir.AxisAttrs{}, "argmin": ir.AxisAttrs{}, "cumulative": ir.CumulativeAttrs{}, "sort": ir.SortAttrs{},
	"top_k": ir.TopKAttrs{}, "conv": ir.ConvAttrs{}, "conv_input_grad": ir.ConvGradAttrs{}, "conv_kernel_grad": ir.ConvGradAttrs{},
	"max_pool": ir.PoolAttrs{}, "max_pool_grad": ir.PoolAttrs{}, "avg_pool": ir.PoolAttrs{}, "avg_pool_grad": ir.PoolGradAttrs{},
	"batch_norm": ir.NormAttrs{}, "batch_norm_grad": ir.NormAttrs{}, "layer_norm": ir.NormAttrs{}, "layer_norm_grad": ir.NormAttrs{},
	"attention": ir.AttentionAttrs{}, "attention_grad": ir.AttentionAttrs{}, "rnn_scan": ir.RnnAttrs{}, "optimizer_update": ir.OptimizerAttrs{},
}

type tensorJSON struct {
	DType string
	Shape []int
	Data  []any
}

func (x tensorJSON) value(t *testing.T) reference.Value {
	dtype, err := ir.ParseDType(x.DType)
	require.NoError(t, err)
	v := reference.Value{Type: ir.Type{DType: dtype, Shape: x.Shape}}
	for _, element := range x.Data {
		switch e := element.(type) {
		case bool:
			v.I = append(v.I, map[bool]int64{true: 1}[e])
		case string:
			v.F = append(v.F, map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1)}[e])
		case json.Number:
			if dtype.IsFloat() {
				f, err := e.Float64()
				require.NoError(t, err)
				v.F = append(v.F, f)
			} else {
				n, ok := new(big.Int).SetString(e.String(), 10)
				require.True(t, ok, e)
				v.I = append(v.I, int64(new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64()))
			}
		}
	}
	return v
}

// The numbers of JAX and Keras; see testdata/generate.py.
func TestVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			Op, Note        string
			Attrs           json.RawMessage
			Inputs, Outputs []tensorJSON
		}
	}
	compressed, err := os.Open("testdata/vectors.json.gz")
	require.NoError(t, err)
	defer compressed.Close()
	reader, err := gzip.NewReader(compressed)
	require.NoError(t, err)
	decoder := json.NewDecoder(reader)
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&file))
	require.Greater(t, len(file.Cases), 300)
	ops := map[string]ir.Op{}
	for _, op := range ir.Ops() {
		ops[op.String()] = op
	}
	for i, c := range file.Cases {
		t.Run(fmt.Sprintf("%s %d", c.Op, i), func(t *testing.T) {
			op, ok := ops[c.Op]
			require.True(t, ok)
			p := ir.New(c.Op)
			var inputs []reference.Value
			var operands []ir.Value
			for _, x := range c.Inputs {
				inputs = append(inputs, x.value(t))
				operands = append(operands, p.AddInput("", inputs[len(inputs)-1].Type))
			}
			results, err := p.Add("", op, parseAttrs(t, c.Op, c.Attrs), operands...)
			require.NoError(t, err)
			for _, v := range results {
				p.AddOutput("", v)
			}
			got, err := reference.Run(p, inputs)
			require.NoError(t, err)
			require.Len(t, got, len(c.Outputs))
			for o, x := range c.Outputs {
				compareValues(t, fmt.Sprintf("%s %s output %d", c.Op, c.Attrs, o), got[o], x.value(t), 2e-12)
			}
		})
	}
}

func parseAttrs(t *testing.T, op string, text json.RawMessage) ir.Attrs {
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	kind, ok := attributes[op]
	require.True(t, ok, "%s has no attributes", op)
	if op == "convert" {
		var name struct{ DType string }
		require.NoError(t, json.Unmarshal(text, &name))
		dtype, err := ir.ParseDType(name.DType)
		require.NoError(t, err)
		return ir.ConvertAttrs{DType: dtype}
	}
	attrs := reflect.New(reflect.TypeOf(kind))
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(attrs.Interface()))
	return attrs.Elem().Interface().(ir.Attrs)
}

// compareValues fails unless all elements agree within tolerance·max(1, |want|); NaN and infinities must be the same.
func compareValues(t *testing.T, what string, got, want reference.Value, tolerance float64) {
	t.Helper()
	require.Equal(t, want.Type.String(), got.Type.String(), what)
	require.Equal(t, len(want.I), len(got.I), what)
	for i, w := range want.I {
		require.Equal(t, w, got.I[i], "%s: element %d", what, i)
	}
	for i, w := range want.F {
		g := got.F[i]
		if g == w || g != g && w != w {
			continue
		}
		if diff := math.Abs(g - w); math.IsInf(w, 0) || !(diff <= tolerance*math.Max(1, math.Abs(w))) {
			t.Errorf("%s: element %d is %v, want %v", what, i, g, w)
		}
	}
}
