package cudnn

import "fmt"

// Status is the library's status code, cudnnStatus_t. Its numbers differ between versions, except 0.
type Status int32

// Error is a call that failed.
type Error struct {
	Call   string
	Status Status
	Reason string // the library's text for the status
}

// Error names the call and explains the status.
func (e *Error) Error() string { return fmt.Sprintf("cudnn: %s: %s (%d)", e.Call, e.Reason, e.Status) }

// Type is an element type, cudnnDataType_t.
type Type int32

// The element types.
const (
	Float32  Type = 0
	Float16  Type = 2
	BFloat16 Type = 9
)

// Kind says which of the three tensors of a convolution y = x * w is computed.
type Kind int

// Forward computes y, InputGrad the gradient of x from dy and w, KernelGrad the gradient of w from x and dy.
const (
	Forward Kind = iota
	InputGrad
	KernelGrad
)

// Problem is a convolution, or a gradient of one. Tensors are dense: x and y are (batch, spatial axes..., channels), w
// is (output channels, kernel axes..., input channels of a group). Sums are float32.
type Problem struct {
	Kind             Kind
	Type             Type
	TF32             bool // float32 operands may be rounded to TF32
	Batch, Groups    int64
	In, Out          int64   // channels
	X, Y, Taps       []int64 // lengths of one to three spatial axes
	Stride, Dilation []int64
	PadLow, PadHigh  []int64
	Bias, ReLU       bool // for Forward: y = max(x * w + bias, 0), fused
}

// WorkspaceBytes is the size of the scratch memory of a convolution.
const WorkspaceBytes = 32 << 20

// Places are the addresses of a convolution's tensors.
type Places struct{ X, W, Y, Bias, Workspace uint64 }

// Convolution is a problem with the engine that the library chose for it. It may run in any stream, used by one
// goroutine at a time.
type Convolution interface {
	// Run enqueues the convolution in a stream of the current context. The workspace has WorkspaceBytes.
	Run(at Places, stream uint64) error
	Close()
}

// API is the library for one device. Its methods require the device's context to be current.
type API interface {
	// Prepare chooses an engine. It excludes engines whose results differ from run to run, and those that round more
	// than products and sums of float32 do.
	Prepare(p Problem) (Convolution, error)
	Close() error
}

// tensor is a tensor in the library's order of axes: batch, channels, spatial axes.
type tensor struct {
	typ           Type
	shape, stride []int64
}

// dense returns the shape and strides of a tensor whose channels are adjacent in memory.
func dense(t Type, batch, channels int64, places []int64) tensor {
	r := tensor{typ: t, shape: append([]int64{batch, channels}, places...), stride: make([]int64, len(places)+2)}
	step := channels
	r.stride[1] = 1
	for i := len(places) + 1; i > 1; i-- {
		r.stride[i] = step
		step *= r.shape[i]
	}
	r.stride[0] = step
	return r
}

// flat returns the problem with at least two spatial axes, which is the fewest that the library supports.
func (p Problem) flat() Problem {
	if len(p.X) > 1 {
		return p
	}
	with := func(first int64, list []int64) []int64 { return append([]int64{first}, list...) }
	p.X, p.Y, p.Taps = with(1, p.X), with(1, p.Y), with(1, p.Taps)
	p.Stride, p.Dilation = with(1, p.Stride), with(1, p.Dilation)
	p.PadLow, p.PadHigh = with(0, p.PadLow), with(0, p.PadHigh)
	return p
}

func (p Problem) x() tensor { return dense(p.Type, p.Batch, p.In, p.X) }
func (p Problem) y() tensor { return dense(p.Type, p.Batch, p.Out, p.Y) }
func (p Problem) w() tensor { return dense(p.Type, p.Out, p.In/p.Groups, p.Taps) }
