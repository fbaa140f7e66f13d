package layers

import (
	"encoding/json"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
	"github.com/gokeras/gokeras/layers/initializers"
)

// STFTSpectrogram turns sound into the strength of frequencies over time, by a convolution whose kernels are
// initialized to a short-time Fourier transform ([initializers.STFT]) and then trained, unless the layer is frozen. All
// channels are treated alike. Mode says what is computed from the real part r and the imaginary part i of a frame:
//
//	"log"        ln of the magnitude, the default     "psd"    r² + i², twice that for bins other than the first and the last
//	"magnitude"  sqrt(r² + i²), at least sqrt(1e-7)   "angle"  the angle of r + i·j
//	"real", "imag"  one of the parts                  "stft"   the real parts and then the imaginary ones
//
// Input shape: (batch, samples, channels), with ChannelsFirst (batch, channels, samples). Output shape, with F =
// FFTLength/2 + 1 (twice that for "stft"): (batch, time, channels·F), with ExpandDims (batch, time, F, channels); with
// ChannelsFirst (batch, channels·F, time) and (batch, channels, time, F). Weights: real_kernel, imag_kernel
// (FrameLength, 1, FFTLength/2+1), if the mode needs them.
type STFTSpectrogram struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Mode        string     `keras:"mode,default=log"`                  // see above; "" is "log"
	FrameLength int        `keras:"frame_length,default=256"`          // samples in a frame; 0 is 256
	FrameStep   *int       `keras:"frame_step"`                        // samples between frames; nil is half of FrameLength
	FFTLength   *int       `keras:"fft_length"`                        // length of the transform; nil is the next power of two
	Window      string     `keras:"window,default=hann"`               // see initializers.Window, or "none"; "" is "hann"
	Periodic    bool       `keras:"periodic"`                          // the window is periodic
	Scaling     string     `keras:"scaling,default=density"`           // "density", "spectrum" or "none"; "" is "density"
	Padding     Padding    `keras:"padding,default=valid"`             // "valid" or "same"; "" is "valid"
	ExpandDims  bool       `keras:"expand_dims"`                       // frequencies on their own axis
	DataFormat  DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast

	real, imag *distribute.Variable
	weights    []float64 // a window of a file given as numbers
}

// sizes returns the lengths of frame, step and transform.
func (l *STFTSpectrogram) sizes(g *ops.Graph) (frame, step, fft int) {
	frame = orInt(l.FrameLength, 256)
	step = frame / 2
	if l.FrameStep != nil {
		step = *l.FrameStep
	}
	for fft = 1; fft < frame && fft < 1<<20; fft *= 2 {
	}
	if l.FFTLength != nil {
		fft = *l.FFTLength
	}
	if frame < 2 || frame > 1<<14 || step < 1 || step > frame || fft < frame || fft > 1<<15 {
		ops.Failf(g, "FrameLength is %d, the step %d and FFTLength %d; expected 2 to 16384, 1 to FrameLength, and FrameLength to 32768", frame, step, fft)
	}
	return frame, step, fft
}

// Build creates the kernels.
func (l *STFTSpectrogram) Build(b *Builder, in []ir.Shape) {
	if len(in[0]) != 3 {
		b.Fail("expected sound (batch, samples, channels), received shape %v", in[0])
	}
	frame, _, fft := l.sizes(nil)
	shape := ir.Shape{frame, 1, fft/2 + 1}
	kernel := func(side string) initializers.STFT {
		return initializers.STFT{Side: side, Window: l.Window, Scaling: l.Scaling, Periodic: l.Periodic, Weights: l.weights}
	}
	if l.Mode != "imag" {
		l.real = b.AddWeight("real_kernel", shape, WeightOptions{Initializer: kernel("real")})
	}
	if l.Mode != "real" {
		l.imag = b.AddWeight("imag_kernel", shape, WeightOptions{Initializer: kernel("imag")})
	}
}

// Forward computes the layer.
func (l *STFTSpectrogram) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := floating(one(c, in))
	frame, step, _ := l.sizes(x.Graph())
	first := isChannelsFirst(x.Graph(), l.DataFormat)
	if !first {
		x = ops.Transpose(x, 0, 2, 1)
	}
	batch, channels, samples := x.Dim(0), x.Dim(1), x.Dim(2)
	signal := ops.Reshape(x, dim.Mul(batch, channels), samples, 1)
	v := &convolution{rank: 1, kernelSize: []int{frame}, strides: []int{step}, dilation: []int{1}, same: isSame(x.Graph(), l.Padding)}
	part := func(kernel *distribute.Variable) *ops.Tensor { // (batch, channels, time, bins)
		y := ops.Conv(signal, ops.Cast(c.Weight(kernel), signal.DType()), v.options(signal, 1))
		return ops.Reshape(y, batch, channels, y.Dim(1), y.Dim(2))
	}
	return []*ops.Tensor{l.arrange(l.measure(x.Graph(), part), first)}
}

// measure computes what Mode says.
func (l *STFTSpectrogram) measure(g *ops.Graph, part func(*distribute.Variable) *ops.Tensor) *ops.Tensor {
	switch l.Mode {
	case "real":
		return part(l.real)
	case "imag":
		return part(l.imag)
	case "angle":
		return ops.Arctan2(part(l.imag), part(l.real))
	case "stft":
		return ops.Concatenate(-1, part(l.real), part(l.imag))
	case "", "log", "magnitude", "psd":
	default:
		ops.Failf(g, "unknown Mode %q; known: log, magnitude, psd, real, imag, angle, stft", l.Mode)
	}
	power := ops.Add(ops.Square(part(l.real)), ops.Square(part(l.imag)))
	if l.Mode == "psd" {
		inner := ops.SliceAxis(power, -1, 1, dim.Sub(power.Dim(-1), 1))
		return ops.Add(power, ops.Pad(inner, []int{0, 0, 0, 1}, []int{0, 0, 0, 1}, 0))
	}
	magnitude := ops.Sqrt(ops.MaximumScalar(power, objectives.Epsilon))
	if l.Mode == "magnitude" {
		return magnitude
	}
	return ops.Log(ops.MaximumScalar(magnitude, objectives.Epsilon))
}

// arrange puts y (batch, channels, time, bins) into the shape of the result.
func (l *STFTSpectrogram) arrange(y *ops.Tensor, first bool) *ops.Tensor {
	batch, channels, time, bins := y.Dim(0), y.Dim(1), y.Dim(2), y.Dim(3)
	switch {
	case first && l.ExpandDims:
		return y
	case first:
		return ops.Reshape(ops.Transpose(y, 0, 1, 3, 2), batch, dim.Mul(channels, bins), time)
	case l.ExpandDims:
		return ops.Transpose(y, 0, 2, 3, 1)
	}
	return ops.Reshape(ops.Transpose(y, 0, 2, 1, 3), batch, time, dim.Mul(channels, bins))
}

// MigrateConfig reads null values and windows given as numbers.
func (l *STFTSpectrogram) MigrateConfig(keys map[string]json.RawMessage) error {
	var s initializers.STFT
	err := s.MigrateConfig(keys)
	l.weights = s.Weights
	return err
}

// AmendConfig writes them back.
func (l *STFTSpectrogram) AmendConfig(keys map[string]any) error {
	return (&initializers.STFT{Weights: l.weights}).AmendConfig(keys)
}

func init() { Register[STFTSpectrogram]() }
