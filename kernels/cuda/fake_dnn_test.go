//go:build linux

package cuda

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cuda/internal/cudnn"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/ir"
)

// fakeDNN is a cuDNN whose convolutions are made in the streams of the fake driver's devices.
type fakeDNN struct{ *fakeLibrary }

// Open is cudnn.Open.
func (l fakeDNN) Open(string) (cudnn.API, error) {
	if err := l.enter("cudnnCreate", 1); err != nil {
		return nil, err
	}
	return dnnHandle{l}, nil
}

type dnnHandle struct{ fakeDNN }

func (h dnnHandle) Close() error { return h.enter("cudnnDestroy", -1) }

func (h dnnHandle) Prepare(p cudnn.Problem) (cudnn.Convolution, error) {
	if err := h.enter("cudnnBackendFinalize", 1); err != nil {
		return nil, err
	}
	return &fakeConvolution{h.fakeLibrary, p}, nil
}

type fakeConvolution struct {
	*fakeLibrary
	problem cudnn.Problem
}

func (c *fakeConvolution) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alive--
}

// Run convolves, and writes over the workspace.
func (c *fakeConvolution) Run(at cudnn.Places, stream uint64) error {
	if err := c.enter("cudnnBackendExecute", 0); err != nil {
		if c.spoils {
			c.driver.Fail("cuStreamEndCapture", 1)
		}
		return err
	}
	if r := c.driver.Foreign(driver.Handle(stream), c.driver.Here(), "cudnnBackendExecute", func() error { return c.convolve(at) }, at.X, at.W, at.Y, at.Bias, at.Workspace); r != 0 {
		return &cudnn.Error{Call: "cudnnBackendExecute", Status: 5000, Reason: "CUDNN_STATUS_EXECUTION_FAILED"}
	}
	return nil
}

var dnnDTypes = map[cudnn.Type]ir.DType{cudnn.Float32: ir.Float32, cudnn.Float16: ir.Float16, cudnn.BFloat16: ir.BFloat16}

func (c *fakeConvolution) convolve(at cudnn.Places) error {
	p, d := c.problem, dnnDTypes[c.problem.Type]
	memory := &c.driver.Memory
	scratch := memory.At(at.Workspace)
	if len(scratch) < cudnn.WorkspaceBytes {
		return fmt.Errorf("fake cuDNN: the workspace has %d bytes", len(scratch))
	}
	for i := range 1 << 10 {
		scratch[i] = 0xee
	}
	x, w, y := memory.At(at.X), memory.At(at.W), memory.At(at.Y)
	size := func(list []int64) int64 {
		n := int64(1)
		for _, l := range list {
			n *= l
		}
		return n
	}
	in, out, taps := p.In/p.Groups, p.Out/p.Groups, size(p.Taps)
	results, counts := [][]byte{y, x, w}, []int64{p.Batch * size(p.Y) * p.Out, p.Batch * size(p.X) * p.In, p.Out * taps * in}
	sums := make([]float64, counts[p.Kind])
	for n := range p.Batch * size(p.Y) * taps {
		tap, rest := n%taps, n/taps
		row, restTap, place, scale, inside := rest, tap, int64(0), int64(1), true
		for i := len(p.X) - 1; i >= 0; i-- {
			a := rest%p.Y[i]*p.Stride[i] + restTap%p.Taps[i]*p.Dilation[i] - p.PadLow[i]
			inside = inside && a >= 0 && a < p.X[i]
			place += a * scale
			rest, restTap, scale = rest/p.Y[i], restTap/p.Taps[i], scale*p.X[i]
		}
		if !inside {
			continue
		}
		for o := range p.Out {
			for ch := range in {
				ix, iw, iy := (rest*scale+place)*p.In+o/out*in+ch, (o*taps+tap)*in+ch, row*p.Out+o
				switch p.Kind {
				case cudnn.Forward:
					sums[iy] += ir.Element(x, d, int(ix)) * ir.Element(w, d, int(iw))
				case cudnn.InputGrad:
					sums[ix] += ir.Element(y, d, int(iy)) * ir.Element(w, d, int(iw))
				case cudnn.KernelGrad:
					sums[iw] += ir.Element(x, d, int(ix)) * ir.Element(y, d, int(iy))
				}
			}
		}
	}
	for i, sum := range sums {
		if p.Bias {
			sum += ir.Element(memory.At(at.Bias), d, i%int(p.Out))
		}
		if p.ReLU {
			sum = max(sum, 0)
		}
		if c.wrong {
			sum++
		}
		copy(results[p.Kind][i*d.Size():], ir.AppendElement(nil, d, sum))
	}
	return nil
}
