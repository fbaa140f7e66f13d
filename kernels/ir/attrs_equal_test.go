package ir

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEqualAttrs changes each number, text and list of attributes of each type, one at a time.
func TestEqualAttrs(t *testing.T) {
	for _, a := range []Attrs{
		ConstantAttrs{}, IotaAttrs{}, RngAttrs{}, ConvertAttrs{}, CompareAttrs{}, ReshapeAttrs{}, TransposeAttrs{}, BroadcastAttrs{}, SliceAttrs{},
		PadAttrs{}, AxisAttrs{}, AxesAttrs{}, DynamicSliceAttrs{}, DotAttrs{}, GatherAttrs{}, ScatterAttrs{}, ReduceAttrs{}, CumulativeAttrs{},
		SortAttrs{}, TopKAttrs{}, FourierAttrs{}, ScanAttrs{}, WhileAttrs{}, CondAttrs{}, FactorAttrs{}, ConvAttrs{}, ConvGradAttrs{}, PoolAttrs{},
		ResampleAttrs{}, PoolGradAttrs{}, NormAttrs{}, GroupNormAttrs{}, DropoutAttrs{}, AttentionAttrs{}, PackedDotAttrs{}, PackedEmbeddingAttrs{},
		RnnAttrs{}, OptimizerAttrs{}, LayoutAttrs{}, CollectiveAttrs{},
	} {
		kind := reflect.TypeOf(a)
		filled := func(changed int) (attrs Attrs, leaves int) {
			v := reflect.New(kind).Elem()
			at := 0
			fill(v, &at, changed)
			return v.Interface().(Attrs), at
		}
		x, leaves := filled(-1)
		y, _ := filled(-1)
		require.True(t, EqualAttrs(x, y), "%T", a)
		require.Equal(t, HashAttrs(x), HashAttrs(y), "%T", a)
		require.Positive(t, leaves, "%T", a)
		for i := range leaves {
			z, _ := filled(i)
			require.False(t, EqualAttrs(x, z), "%T, leaf %d", a, i)
		}
		require.False(t, EqualAttrs(x, nil), "%T", a)
	}
	require.True(t, EqualAttrs(nil, nil))
	require.False(t, EqualAttrs(AxisAttrs{Axis: 1}, TopKAttrs{K: 1}))
	require.True(t, EqualAttrs(AxesAttrs{Axes: []int{}}, AxesAttrs{}))
	require.Equal(t, HashAttrs(AxesAttrs{Axes: []int{}}), HashAttrs(AxesAttrs{}))
	minus, err := Floats(Float32, Shape{1}, []float64{-1})
	require.NoError(t, err)
	require.False(t, EqualAttrs(ConstantAttrs{Literal: minus}, ConstantAttrs{Literal: Scalar(Float32, -1, 1)}), "a splat")
}

// fill gives each leaf of a value something that is not zero, and another one to leaf number changed.
func fill(v reflect.Value, at *int, changed int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), at, changed)
		}
		return
	case reflect.Slice:
		n := 2
		if *at == changed {
			n = 3
		}
		*at++
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range 2 {
			fill(v.Index(i), at, changed)
		}
		return
	}
	x := *at + 2
	if *at == changed {
		x = 100 + *at
	}
	flips := *at == changed
	*at++
	switch {
	case v.CanInt():
		v.SetInt(int64(x))
	case v.CanUint():
		v.SetUint(uint64(x))
	case v.CanFloat():
		v.SetFloat(float64(x))
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprint(x))
	case v.Kind() == reflect.Bool:
		v.SetBool(!flips)
	case flips: // a program
		v.Set(reflect.ValueOf(New("another")))
	}
}
