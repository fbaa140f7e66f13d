package cudnn

import "fmt"

// Status is what the library's calls return, cudnnStatus_t. Its numbers differ between versions, except 0.
type Status int32

// Error is a call that failed.
type Error struct {
	Call   string
	Status Status
	Reason string // what the library calls the status
}

// Error names the call and says what the status means.
func (e *Error) Error() string { return fmt.Sprintf("cudnn: %s: %s (%d)", e.Call, e.Reason, e.Status) }

// Type is an element type, cudnnDataType_t.
type Type int32

// The types of elements.
const (
	Float32  Type = 0
	Float16  Type = 2
	BFloat16 Type = 9
)

// Kind says which of the three values of a convolution y = x * w is found.
type Kind int

// Forward finds y, InputGrad that of x from dy and w, KernelGrad that of w from x and dy.
const (
	Forward Kind = iota
	InputGrad
	KernelGrad
)

// Problem is a convolution, or a gradient of one. Values are dense: x and y as (batch, places..., channels), w as
// (output channels, taps..., input channels of a group). Sums are float32.
type Problem struct {
	Kind             Kind
	Type             Type
	TF32             bool // elements of float32 may lose digits
	Batch, Groups    int64
	In, Out          int64   // channels
	X, Y, Taps       []int64 // lengths of one to three axes
	Stride, Dilation []int64
	PadLow, PadHigh  []int64
	Bias, ReLU       bool // of Forward: y = max(x * w + bias, 0), in one go
}

// WorkspaceBytes is the memory that a convolution may use beside its values.
const WorkspaceBytes = 32 << 20

// Places are the addresses of the values of a convolution.
type Places struct{ X, W, Y, Bias, Workspace uint64 }

// Convolution is a problem with the engine that the library has chosen for it. It may be run in any stream, by one
// goroutine at a time.
type Convolution interface {
	// Run puts it into a stream of the current context, with memory of WorkspaceBytes.
	Run(at Places, stream uint64) error
	Close()
}

// API is the library for one device. Its calls want the device's context.
type API interface {
	// Prepare chooses an engine. Those whose results differ from run to run are not among them, nor those that round
	// more than products and sums of float32 do.
	Prepare(p Problem) (Convolution, error)
	Close() error
}

// tensor is a value as the library sees it: batch, channels, places.
type tensor struct {
	typ           Type
	shape, stride []int64
}

// dense are the lengths and distances of a value whose channels are neighbours in memory.
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

// flat is the problem with at least two axes of places: the library has no fewer.
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
