//go:build linux

package cuda

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cuda/internal/cublas"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/ir"
)

// fakeBLAS is a cuBLASLt whose products are made in the streams of the fake driver's devices.
type fakeBLAS struct{ *fakeLibrary }

// Open is cublas.Open.
func (l fakeBLAS) Open(string) (cublas.API, error) {
	if err := l.enter("cublasLtCreate", 1); err != nil {
		return nil, err
	}
	return blasHandle{l}, nil
}

type blasHandle struct{ fakeBLAS }

func (h blasHandle) Close() error { return h.enter("cublasLtDestroy", -1) }

func (h blasHandle) Prepare(p cublas.Problem) (cublas.Product, error) {
	if err := h.enter("cublasLtMatmulAlgoGetHeuristic", 1); err != nil {
		return nil, err
	}
	return &fakeProduct{h.fakeLibrary, p}, nil
}

type fakeProduct struct {
	*fakeLibrary
	problem cublas.Problem
}

func (p *fakeProduct) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alive--
}

// Run multiplies, and writes over the workspace.
func (p *fakeProduct) Run(a, b, c, workspace, stream uint64) error {
	if err := p.enter("cublasLtMatmul", 0); err != nil {
		if p.spoils {
			p.driver.Fail("cuStreamEndCapture", 1)
		}
		return err
	}
	if r := p.driver.Foreign(driver.Handle(stream), p.driver.Here(), "cublasLtMatmul", func() error { return p.multiply(a, b, c, workspace) }, a, b, c, workspace); r != 0 {
		return &cublas.Error{Call: "cublasLtMatmul", Status: 13}
	}
	return nil
}

var dtypes = map[cublas.Type]ir.DType{cublas.Float32: ir.Float32, cublas.Float16: ir.Float16, cublas.BFloat16: ir.BFloat16}

func (p *fakeProduct) multiply(a, b, c, workspace uint64) error {
	q := p.problem
	in, out := dtypes[q.In], dtypes[q.Out]
	memory := &p.driver.Memory
	scratch := memory.At(workspace)
	if len(scratch) < cublas.WorkspaceBytes {
		return fmt.Errorf("fake cuBLASLt: the workspace has %d bytes", len(scratch))
	}
	for i := range 1 << 10 {
		scratch[i] = 0xee
	}
	x, y, z := memory.At(a), memory.At(b), memory.At(c)
	place := func(o cublas.Operand, batch, row, column int64) int {
		if o.Turned {
			row, column = column, row
		}
		return int(batch*o.Batch + row*o.Stride + column)
	}
	for batch := range q.Batch {
		for m := range q.M {
			for n := range q.N {
				sum := 0.0
				for k := range q.K {
					sum += ir.Element(x, in, place(q.A, batch, m, k)) * ir.Element(y, in, place(q.B, batch, k, n))
				}
				if p.wrong {
					sum++
				}
				at := int((batch*q.M+m)*q.N+n) * out.Size()
				if at+out.Size() > len(z) {
					return fmt.Errorf("fake cuBLASLt: the result has %d bytes", len(z))
				}
				copy(z[at:], ir.AppendElement(nil, out, sum))
			}
		}
	}
	return nil
}
