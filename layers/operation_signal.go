package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// maxTransform limits the lengths of Fourier transforms in files.
const maxTransform = 1 << 22

// parts returns a pair of tensors, the real and the imaginary parts of complex numbers.
func (a *operands) parts(name string) (re, im *ops.Tensor) {
	pair := a.list(name)
	if len(pair) != 2 {
		ops.Failf(a.graph, "argument %q must be the real and the imaginary part, received %d tensors", name, len(pair))
	}
	return pair[0], pair[1]
}

// length reads an optional length; 0 means that it is omitted.
func (a *operands) length(name string) int {
	if !a.given(name) {
		return 0
	}
	n := a.integer(name)
	if n < 1 {
		a.fail(name, "at least 1")
	}
	a.bounded(name, n, maxTransform)
	return n
}

func complexBy(f func(re, im *ops.Tensor) (*ops.Tensor, *ops.Tensor)) func(a *operands) []*ops.Tensor {
	return func(a *operands) []*ops.Tensor {
		re, im := f(a.parts("x"))
		return []*ops.Tensor{re, im}
	}
}

func (a *operands) stftOptions() ops.STFTOptions {
	o := ops.STFTOptions{
		SequenceLength: a.length("sequence_length"), SequenceStride: a.length("sequence_stride"), FFTLength: a.length("fft_length"),
		NotCentered: !a.boolean("center"),
	}
	switch w := a.values["window"].(type) {
	case nil:
		o.Window = "none"
	case string:
		if o.Window = w; w == "none" {
			a.fail("window", "hann, hamming, null or a window")
		}
	case []any:
		weights := a.numbers("window")
		o.WindowWeights = ops.Constant(a.graph, ir.Float64, ir.Shape{len(weights)}, weights)
	default:
		o.WindowWeights = a.tensor("window")
	}
	return o
}

func init() {
	define("math", "ExtractSequences", "extract_sequences(x, *sequence_length, *sequence_stride)", oneResult(func(a *operands) *ops.Tensor {
		return ops.ExtractSequences(a.tensor("x"), a.length("sequence_length"), a.length("sequence_stride"))
	}))
	define("math", "FFT", "fft(x)", complexBy(ops.FFT))
	define("math", "FFT2", "fft2(x)", complexBy(ops.FFT2))
	define("math", "IFFT2", "ifft2(x)", complexBy(ops.IFFT2))
	define("math", "RFFT", "rfft(x, *fft_length=null)", func(a *operands) []*ops.Tensor {
		re, im := ops.RFFT(a.tensor("x"), a.length("fft_length"))
		return []*ops.Tensor{re, im}
	})
	define("math", "IRFFT", "irfft(x, *fft_length=null)", oneResult(func(a *operands) *ops.Tensor {
		re, im := a.parts("x")
		return ops.IRFFT(re, im, a.length("fft_length"))
	}))
	define("math", "STFT", `stft(x, *sequence_length, *sequence_stride, *fft_length, *window="hann", *center=true)`, func(a *operands) []*ops.Tensor {
		re, im := ops.STFT(a.tensor("x"), a.stftOptions())
		return []*ops.Tensor{re, im}
	})
	define("math", "ISTFT", `istft(x, *sequence_length, *sequence_stride, *fft_length, *length=null, *window="hann", *center=true)`, oneResult(func(a *operands) *ops.Tensor {
		re, im := a.parts("x")
		return ops.ISTFT(re, im, a.length("length"), a.stftOptions())
	}))
	define("nn", "CTCLoss", "ctc_loss(target, output, target_length, output_length, *mask_index=0)", oneResult(func(a *operands) *ops.Tensor {
		return ops.CTCLoss(whole(a.tensor("target")), a.tensor("output"), a.tensor("target_length"), a.tensor("output_length"), a.integer("mask_index"))
	}))
	define("nn", "CTCDecode", `ctc_decode(inputs, sequence_lengths, *strategy="greedy", *beam_width=100, *top_paths=1, *merge_repeated=true, *mask_index=0)`, ctcDecode)
}

func ctcDecode(a *operands) []*ops.Tensor {
	x, lengths, blank := a.tensor("inputs"), a.tensor("sequence_lengths"), 0
	switch {
	case a.given("mask_index"):
		blank = a.integer("mask_index")
	case x.Rank() == 3:
		ops.Fixed(x, "ctc decode", x.Dim(2))
		blank = x.Dim(2) - 1 //dim:known
	}
	a.refuse("strategy", "greedy", "beam_search")
	if a.text("strategy") == "greedy" {
		paths, scores := ops.CTCGreedyDecode(x, lengths, a.boolean("merge_repeated"), blank)
		return []*ops.Tensor{paths, scores}
	}
	width := a.integer("beam_width")
	a.bounded("beam_width", width, maxParts)
	paths, scores := ops.CTCBeamSearchDecode(x, lengths, width, a.integer("top_paths"), blank)
	return []*ops.Tensor{paths, scores}
}

func init() {
	define("numpy", "View", "view(x, *dtype=null)", oneResult(func(a *operands) *ops.Tensor {
		x := a.tensor("x")
		return ops.View(x, a.dtype("dtype", x.DType()))
	}))
	define("numpy", "Nextafter", "nextafter(x1, x2)", exactBinaryOf(ops.Nextafter))
	define("numpy", "Full", "full(*shape, fill_value, *dtype=null)", oneResult(func(a *operands) *ops.Tensor {
		shape := a.integers("shape")
		size := 1
		for _, n := range shape {
			a.bounded("a length of shape", n, maxTable)
			size *= max(n, 1)
			a.bounded("the number of elements", size, maxTable)
		}
		return ops.BroadcastTo(ops.Cast(a.tensor("fill_value"), a.dtype("dtype", ir.Float32)), shape...)
	}))
	define("numpy", "Size", "size(x)", oneResult(func(a *operands) *ops.Tensor {
		return ops.Length(a.graph, ir.Int32, a.tensor("x").Shape().Size())
	}))
	define("numpy", "Ndim", "ndim(x)", oneResult(func(a *operands) *ops.Tensor { return ops.Full(a.graph, ir.Int32, float64(a.tensor("x").Rank())) }))
	spaced := func(a *operands, f func(start, stop *ops.Tensor, n int, endpoint bool) *ops.Tensor) *ops.Tensor {
		a.bounded("num", a.integer("num"), maxTable)
		start, stop := a.pair("start", "stop")
		y := f(start, stop, a.integer("num"), a.boolean("endpoint"))
		return ops.MoveAxis(ops.Cast(y, a.dtype("dtype", y.DType())), 0, a.integer("axis"))
	}
	define("numpy", "Geomspace", "geomspace(start, stop, *num=50, *endpoint=true, *dtype=null, *axis=0)", oneResult(func(a *operands) *ops.Tensor {
		return spaced(a, ops.GeomspaceOf)
	}))
	define("numpy", "Logspace", "logspace(start, stop, *num=50, *endpoint=true, *base=10, *dtype=null, *axis=0)", oneResult(func(a *operands) *ops.Tensor {
		return spaced(a, func(start, stop *ops.Tensor, n int, endpoint bool) *ops.Tensor {
			return ops.LogspaceOf(start, stop, n, endpoint, a.number("base"))
		})
	}))
	define("einops", "Rearrange", "rearrange(tensor, pattern, **axes_lengths)", oneResult(func(a *operands) *ops.Tensor {
		lengths := map[string]int{}
		others, _ := a.values["axes_lengths"].(map[string]any)
		for name := range others {
			lengths[name] = (&operands{graph: a.graph, values: others}).integer(name)
		}
		return ops.Rearrange(a.tensor("tensor"), a.text("pattern"), lengths)
	}))
	define("numpy", "Histogram", "histogram(x, *bins=10, *range=null)", func(a *operands) []*ops.Tensor {
		x, bins := a.tensor("x"), a.integer("bins")
		a.bounded("bins", bins, maxParts)
		if !a.given("range") {
			ops.Failf(a.graph, "histogram needs a range here: the borders of the bins cannot depend on the numbers")
		}
		ends := a.numbers("range")
		if len(ends) != 2 {
			a.fail("range", "two numbers")
		}
		counts, borders := ops.Histogram(x, bins, ends[0], ends[1])
		return []*ops.Tensor{counts, borders}
	})
	define("numpy", "Unique", "unique(x, *sorted=true, *return_index=false, *return_inverse=false, *return_counts=false, *axis=null, *size=null, *fill_value=null)", func(a *operands) []*ops.Tensor {
		if !a.given("size") {
			ops.Failf(a.graph, "unique needs the argument size here: the length of the result cannot depend on the numbers")
		}
		a.bounded("size", a.integer("size"), maxTable)
		fill := 0.0
		if a.given("fill_value") {
			fill = a.number("fill_value")
		}
		var u ops.UniqueResult
		if a.given("axis") {
			u = ops.UniqueAlong(a.tensor("x"), a.integer("axis"), a.integer("size"), fill)
		} else {
			u = ops.Unique(a.tensor("x"), a.integer("size"), fill)
		}
		out := []*ops.Tensor{u.Values}
		if a.boolean("return_index") {
			out = append(out, u.Index)
		}
		if a.boolean("return_inverse") {
			out = append(out, u.Inverse)
		}
		if a.boolean("return_counts") {
			out = append(out, u.Counts)
		}
		return out
	})
}
