package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// lengthsOf returns the shapes of the results of f for inputs of the given shapes, or the error.
func lengthsOf(f func(xs []*ops.Tensor) []*ops.Tensor, dtypes []ir.DType, shapes []ir.Shape) (out []ir.Shape, err error) {
	defer ops.Catch(&err)
	g := ops.NewGraph("lengths")
	xs := make([]*ops.Tensor, len(shapes))
	for i, s := range shapes {
		xs[i] = g.Input(string(rune('a'+i)), dtypes[i], s...)
	}
	for _, y := range f(xs) {
		out = append(out, y.Shape())
	}
	return out, nil
}

// Shapes inferred with unknown axes agree with those of the same program for fixed ones; if a length must be fixed, an
// error says so.
func TestSignalsOnOpenAxes(t *testing.T) {
	b, n := dim.Symbol("batch"), dim.Symbol("time")
	signal := ops.STFTOptions{SequenceLength: 8, SequenceStride: 3, FFTLength: 16}
	wide := ops.STFTOptions{SequenceLength: 64, SequenceStride: 1, FFTLength: 64, NotCentered: true}
	type shapes = []ir.Shape
	for name, c := range map[string]struct {
		f   func(xs []*ops.Tensor) []*ops.Tensor
		in  shapes
		err string
	}{
		"fft":               {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.FFT(xs[0], xs[1])) }, shapes{{b, n, 12}, {b, n, 12}}, ""},
		"fft of an open":    {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.FFT(xs[0], xs[1])) }, shapes{{b, n}, {b, n}}, "fft needs axes of a fixed length"},
		"ifft2 of an open":  {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.IFFT2(xs[0], xs[1])) }, shapes{{b, n, 8}, {b, n, 8}}, "ifft2 needs axes of a fixed length"},
		"rfft of an open":   {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.RFFT(xs[0], 0)) }, shapes{{b, n}}, "rfft needs axes of a fixed length"},
		"rfft":              {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.RFFT(xs[0], 30)) }, shapes{{b, n}}, ""},
		"irfft":             {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.IRFFT(xs[0], xs[1], 30)) }, shapes{{b, n}, {b, n}}, ""},
		"irfft of an open":  {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.IRFFT(xs[0], xs[1], 0)) }, shapes{{b, n}, {b, n}}, "irfft needs axes of a fixed length"},
		"stft":              {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.STFT(xs[0], signal)) }, shapes{{b, n}}, ""},
		"stft, many parts":  {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.STFT(xs[0], wide)) }, shapes{{b, n}}, ""},
		"istft":             {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.ISTFT(xs[0], xs[1], 0, signal)) }, shapes{{b, n, 9}, {b, n, 9}}, ""},
		"istft, many parts": {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.ISTFT(xs[0], xs[1], 50, wide)) }, shapes{{b, n, 33}, {b, n, 33}}, ""},
		"sequences":         {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.ExtractSequences(xs[0], 7, 3)) }, shapes{{b, n}}, ""},
		"ctc decode": {func(xs []*ops.Tensor) []*ops.Tensor {
			return list(ops.CTCGreedyDecode(xs[0], ops.Cast(xs[1], ir.Int32), true, 0))
		}, shapes{{b, n, 5}, {b}}, ""},
		"ctc beams": {func(xs []*ops.Tensor) []*ops.Tensor {
			return list(ops.CTCBeamSearchDecode(xs[0], ops.Cast(xs[1], ir.Int32), 6, 2, 4))
		}, shapes{{b, n, 5}, {b}}, ""},
		"ctc loss": {func(xs []*ops.Tensor) []*ops.Tensor {
			return list(ops.CTCLoss(ops.Cast(xs[0], ir.Int32), xs[1], nil, nil, 0))
		}, shapes{{b, n}, {b, n, 5}}, ""},
		"rearrange": {func(xs []*ops.Tensor) []*ops.Tensor {
			return list(ops.Rearrange(xs[0], "b (t two) c -> (b t) (c two)", map[string]int{"two": 2}))
		}, shapes{{b, n, 5}}, ""},
		"rearrange, too long": {func(xs []*ops.Tensor) []*ops.Tensor {
			return list(ops.Rearrange(xs[0], "b (t p q) c -> b t p q c", map[string]int{"p": 1 << 40, "q": 1 << 40}))
		}, shapes{{b, n, 5}}, "does not divide"},
		"unique": {func(xs []*ops.Tensor) []*ops.Tensor { u := ops.Unique(xs[0], 4, 0); return list(u.Values, u.Inverse) }, shapes{{b, n}}, ""},
		"unique along": {func(xs []*ops.Tensor) []*ops.Tensor {
			u := ops.UniqueAlong(xs[0], -1, 4, 0)
			return list(u.Values, u.Inverse)
		}, shapes{{b, n}}, ""},
		"quantiles": {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.Quantiles(xs[0], xs[1], "linear", 1)) }, shapes{{b, n}, {3}}, ""},
		"nanquantiles of an open": {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.Nanquantiles(xs[0], xs[1], "linear", 1)) },
			shapes{{b, 4}, {n}}, "nanquantile needs axes of a fixed length"},
		"affine": {func(xs []*ops.Tensor) []*ops.Tensor {
			return list(ops.AffineTransform(xs[0], xs[1], ops.ImageSampling{FillMode: "reflect"}))
		}, shapes{{b, n, n, 3}, {b, 8}}, ""},
		"perspective": {func(xs []*ops.Tensor) []*ops.Tensor {
			return list(ops.PerspectiveTransform(xs[0], xs[1], xs[2], ops.ImageSampling{}))
		}, shapes{{b, n, n, 3}, {b, 4, 2}, {b, 4, 2}}, ""},
		"coordinates": {func(xs []*ops.Tensor) []*ops.Tensor {
			return list(ops.MapCoordinates(xs[0], xs[1], ops.ImageSampling{}))
		}, shapes{{b, n}, {2, n}}, ""},
		"scale": {func(xs []*ops.Tensor) []*ops.Tensor {
			return list(ops.ScaleAndTranslate(xs[0], []int{xs[0].Dim(0), 9, xs[0].Dim(2)}, xs[1], xs[2], []int{1}, "linear", true))
		}, shapes{{b, n, 3}, {1}, {1}}, ""},
		"ssim":      {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.SSIM(xs[0], xs[1], ops.SSIMOptions{})) }, shapes{{b, n, n, 3}, {b, n, n, 3}}, ""},
		"view":      {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.View(xs[0], ir.Int16)) }, shapes{{b, n}}, ""},
		"nextafter": {func(xs []*ops.Tensor) []*ops.Tensor { return list(ops.Nextafter(xs[0], xs[1])) }, shapes{{b, n}, {b, n}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dtypes := make([]ir.DType, len(c.in))
			fixed := make(shapes, len(c.in))
			sizes := map[string]int{"batch": 2, "time": 70}
			for i, s := range c.in {
				dtypes[i], fixed[i] = ir.Float32, evaluated(t, s, sizes)
			}
			open, err := lengthsOf(c.f, dtypes, c.in)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			want, err := lengthsOf(c.f, dtypes, fixed)
			require.NoError(t, err)
			require.Len(t, open, len(want))
			for i := range want {
				require.Equal(t, want[i], evaluated(t, open[i], sizes))
			}
		})
	}
}

func evaluated(t *testing.T, s ir.Shape, sizes map[string]int) ir.Shape {
	out := make(ir.Shape, len(s))
	for i, d := range s {
		var err error
		out[i], err = dim.Eval(d, sizes)
		require.NoError(t, err)
	}
	return out
}
