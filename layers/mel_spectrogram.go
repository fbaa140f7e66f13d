package layers

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// MelSpectrogram turns sound into the loudness of bands of frequencies over time.
//
// Pieces of FFTLength samples, SequenceStride apart, are cut from the sound, which is mirrored by half a piece at both
// ends, and weighted with a window of SequenceLength samples in their middle. The absolute values of the discrete
// Fourier transform of each piece, to the power MagExp, are summed over NumMelBins triangles, whose corners are equally
// spaced between MinFreq and MaxFreq on the mel scale 1127·ln(1 + f/700). Unless NoPowerToDB is set the result is
//
//	10·log10(max(y, MinPower)) - 10·log10(max(|RefPower|, MinPower)), but at least its largest value minus TopDB
//
// where the largest value is taken over all examples of the batch, on all replicas.
//
// Input shape: (batch, samples) or (samples). Output shape: (batch, NumMelBins, time) or (NumMelBins, time), where time
// is 1 + samples / SequenceStride for an even FFTLength. A mask does not pass through.
type MelSpectrogram struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	FFTLength      int      `keras:"fft_length,default=2048"`     // 0 is 2048
	SequenceStride int      `keras:"sequence_stride,default=512"` // 0 is 512
	SequenceLength int      `keras:"sequence_length,null"`        // 0 is FFTLength
	Window         string   `keras:"window,default=hann"`         // "hann" or "hamming"; "" is "hann"
	SamplingRate   int      `keras:"sampling_rate,default=16000"` // samples a second; 0 is 16000
	NumMelBins     int      `keras:"num_mel_bins,default=128"`    // 0 is 128
	MinFreq        *float64 `keras:"min_freq,default=20.0"`       // in Hertz; nil is 20
	MaxFreq        float64  `keras:"max_freq,null"`               // in Hertz; 0 is half of SamplingRate
	NoPowerToDB    bool     `keras:"power_to_db,not"`             // returns powers instead of decibels
	TopDB          *float64 `keras:"top_db,default=80.0"`         // range of the loudness, see above; nil is 80
	MagExp         *float64 `keras:"mag_exp,default=2.0"`         // 1 is energy, 2 is power; nil is 2
	MinPower       *float64 `keras:"min_power,default=1e-10"`     // see above; nil is 1e-10
	RefPower       *float64 `keras:"ref_power,default=1.0"`       // see above; nil is 1
}

func orInt(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}

func orFloat(v *float64, def float64) float64 {
	if v == nil {
		return def
	}
	return *v
}

// sizes returns the lengths of transform, stride and window, and the number of bands.
func (l *MelSpectrogram) sizes(g *ops.Graph) (fft, stride, length, bins int) {
	fft, stride, bins = orInt(l.FFTLength, 2048), orInt(l.SequenceStride, 512), orInt(l.NumMelBins, 128)
	length = orInt(l.SequenceLength, fft)
	if fft < 2 || fft > 1<<14 || stride < 1 || length < 1 || length > fft || bins < 1 || bins > 1<<14 {
		ops.Failf(g, "FFTLength is %d, SequenceStride %d, SequenceLength %d and NumMelBins %d; expected 2 to 16384, at least 1, 1 to FFTLength, and 1 to 16384", fft, stride, length, bins)
	}
	return fft, stride, length, bins
}

// Forward computes the layer.
func (l *MelSpectrogram) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	g := x.Graph()
	fft, stride, length, bins := l.sizes(g)
	rank := x.Rank()
	if rank != 1 && rank != 2 {
		ops.Failf(g, "expected sound (batch, samples) or (samples), received shape %v", x.Shape())
	}
	compute := x.DType()
	if compute != ir.Float64 {
		x = ops.Cast(x, ir.Float32)
	}
	if rank == 1 {
		x = ops.ExpandDims(x, 0)
	}
	half := fft / 2
	if dim.Less(x.Dim(1), half+1) {
		ops.Failf(g, "sound of %d samples is too short to be mirrored by half of FFTLength %d; expected more than %d", x.Dim(1), fft, half)
	}
	if l.Window != "" && l.Window != "hann" && l.Window != "hamming" {
		ops.Failf(g, "unknown Window %q; use \"hann\" or \"hamming\"", l.Window)
	}
	power := l.powers(x, fft, stride, length)
	if e := orFloat(l.MagExp, 2); e != 2 {
		power = ops.PowerScalar(power, e/2)
	}
	y := ops.Matmul(power, ops.Constant(x, x.DType(), []int{half + 1, bins}, l.triangles(g, half+1, bins)))
	if !l.NoPowerToDB {
		y = l.decibels(c, y)
	}
	y = ops.SwapAxes(y, -1, -2)
	if compute.IsFloat() {
		y = ops.Cast(y, compute)
	}
	if rank == 1 {
		y = ops.Squeeze(y, 0)
	}
	return []*ops.Tensor{y}
}

func mel(hertz float64) float64 { return 1127 * math.Log1p(hertz/700) }

// triangles returns the weights of the frequencies in the bands; frequency 0 has none.
func (l *MelSpectrogram) triangles(g *ops.Graph, frequencies, bins int) []float64 {
	rate := float64(orInt(l.SamplingRate, 16000))
	low, high := mel(orFloat(l.MinFreq, 20)), mel(l.highest())
	if !(low < high) || rate <= 0 || math.IsInf(high, 0) {
		ops.Failf(g, "MinFreq is %v, MaxFreq %v and SamplingRate %v; expected a least frequency below the largest, and a positive rate", orFloat(l.MinFreq, 20), l.highest(), rate)
	}
	step := (high - low) / float64(bins+1)
	ops.CheckTable(g, "NumMelBins", frequencies, bins)
	out := make([]float64, frequencies*bins)
	for f := 1; f < frequencies; f++ {
		m := mel(rate / 2 * float64(f) / float64(frequencies-1))
		for b := range bins {
			left := low + step*float64(b)
			out[f*bins+b] = max(0, min((m-left)/step, (left+2*step-m)/step))
		}
	}
	return out
}

// highest returns MaxFreq or its default.
func (l *MelSpectrogram) highest() float64 {
	if l.MaxFreq == 0 {
		return float64(orInt(l.SamplingRate, 16000) / 2)
	}
	return l.MaxFreq
}

func (l *MelSpectrogram) decibels(c *Context, y *ops.Tensor) *ops.Tensor {
	least := orFloat(l.MinPower, 1e-10)
	reference := max(math.Abs(orFloat(l.RefPower, 1)), least)
	y = ops.MultiplyScalar(ops.Log10(ops.Maximum(y, ops.Scalar(y, least))), 10)
	y = ops.AddScalar(y, -10*math.Log10(reference))
	largest := c.AllReduce(ir.Max, ops.Max(y))[0]
	return ops.Maximum(y, ops.AddScalar(largest, -orFloat(l.TopDB, 80)))
}

// AmendConfig writes values that follow from other fields.
func (l *MelSpectrogram) AmendConfig(keys map[string]any) error {
	keys["sequence_length"] = orInt(l.SequenceLength, orInt(l.FFTLength, 2048))
	keys["max_freq"] = l.highest()
	return nil
}

func init() { Register[MelSpectrogram]() }
