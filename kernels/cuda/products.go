//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/cublas"
	"github.com/gokeras/gokeras/kernels/cuda/internal/cudnn"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// If the machine has NVIDIA's cuBLASLt or cuDNN, these may compute large products and convolutions. A plan has both the
// library's call and our kernels, because a call of the library may fail; the device then stops using it.

// blasTypes and dnnTypes are those of the libraries.
var (
	blasTypes = map[ir.DType]cublas.Type{ir.Float32: cublas.Float32, ir.Float16: cublas.Float16, ir.BFloat16: cublas.BFloat16}
	dnnTypes  = map[ir.DType]cudnn.Type{ir.Float32: cudnn.Float32, ir.Float16: cudnn.Float16, ir.BFloat16: cudnn.BFloat16}
)

// called is a call of a library that is prepared.
type called interface {
	// run puts it into the stream of the session.
	run(s *session, step *lower.Step) error
	Close()
}

type blasCall struct{ cublas.Product }

func (p blasCall) run(s *session, step *lower.Step) error {
	return p.Run(s.at(step, 0), s.at(step, 1), s.at(step, 2), s.at(step, 3), uint64(s.stream()))
}

type dnnCall struct{ cudnn.Convolution }

func (c dnnCall) run(s *session, step *lower.Step) error {
	return c.Run(cudnn.Places{X: s.at(step, 0), W: s.at(step, 1), Y: s.at(step, 2), Bias: s.at(step, 3), Workspace: s.at(step, 4)}, uint64(s.stream()))
}

// at is the address of an argument.
func (s *session) at(step *lower.Step, i int) uint64 { return uint64(s.place(step.Args[i].Place)) }

func multiplication(p *lower.Product) cublas.Problem {
	operand := func(m lower.Matrix) cublas.Operand {
		return cublas.Operand{Turned: m.Turned, Stride: int64(m.Stride), Batch: int64(m.Batch)}
	}
	return cublas.Problem{M: int64(p.M), N: int64(p.N), K: int64(p.K), Batch: int64(p.Batch), In: blasTypes[p.In], Out: blasTypes[p.Out], TF32: p.TF32, A: operand(p.A), B: operand(p.B)}
}

func convolving(c *lower.Convolution) cudnn.Problem {
	axes := len(c.X) - 2
	wide := func(list []int) []int64 {
		all := make([]int64, axes)
		for i := range all {
			all[i] = 1
			if len(list) > 0 {
				all[i] = int64(list[i])
			}
		}
		return all
	}
	kind := map[ir.Op]cudnn.Kind{ir.Conv: cudnn.Forward, ir.ConvInputGrad: cudnn.InputGrad, ir.ConvKernelGrad: cudnn.KernelGrad}[c.Op]
	return cudnn.Problem{
		Kind: kind, Type: dnnTypes[c.DType], TF32: c.TF32, Batch: int64(c.X[0]), Groups: int64(max(c.Groups, 1)), In: int64(c.X[axes+1]), Out: int64(c.Y[axes+1]),
		X: wide(c.X[1:]), Y: wide(c.Y[1:]), Taps: wide(c.W), Stride: wide(c.Strides), Dilation: wide(c.Dilation), PadLow: wide(c.PadLow), PadHigh: wide(c.PadHigh),
		Bias: c.Bias, ReLU: c.ReLU,
	}
}

// multiply puts a call of a library into the stream, with the steps before and after it, or our own kernels if it
// fails.
func (s *session) multiply(step *lower.Step) error {
	done, err := s.byLibrary(step)
	switch {
	case err != nil:
		return err
	case done:
		return s.steps(step.Head)
	}
	return s.steps(step.Body)
}

// prepared prepares the library call of a step, if the library supports it. It returns the call's number and a function
// that stops using the library. The caller has the context.
func (s *session) prepared(step *lower.Step) (number int, refuse func(error), ready bool) {
	d, b := s.device, s.executable.backend
	if s.called == nil {
		s.called = make([]called, s.executable.plan.Products)
	}
	failed := func(refuse func(*device, error)) func(error) {
		return func(err error) { refuse(d, fmt.Errorf("layer %s: %w", step.Scope, err)) }
	}
	if c := step.Convolution; c != nil {
		number, refuse = c.Number, failed(d.dnn.refuse)
		api, err := d.dnn.open(b.findsDNN, b.openDNN, d)
		if err != nil {
			return number, refuse, false
		}
		if s.called[number] == nil {
			made, err := api.Prepare(convolving(c))
			if err != nil {
				refuse(err)
				return number, refuse, false
			}
			s.called[number] = dnnCall{made}
		}
		return number, refuse, true
	}
	number, refuse = step.Product.Number, failed(d.blas.refuse)
	api, err := d.blas.open(b.findsBLAS, b.openBLAS, d)
	if err != nil {
		return number, refuse, false
	}
	if s.called[number] == nil {
		made, err := api.Prepare(multiplication(step.Product))
		if err != nil {
			refuse(err)
			return number, refuse, false
		}
		s.called[number] = blasCall{made}
	}
	return number, refuse, true
}

// byLibrary reports whether the library has computed the product. The caller has the context.
func (s *session) byLibrary(step *lower.Step) (done bool, failed error) {
	d := s.device
	number, refuse, ready := s.prepared(step)
	if !ready {
		return false, nil
	}
	if err := s.steps(step.Before); err != nil {
		return false, err
	}
	if t := s.timing; t != nil {
		if err := t.start(d, step, s.stream()); err != nil {
			return false, err
		}
		defer func() { failed = errors.Join(failed, t.stop(d, s.stream())) }()
	}
	if err := s.called[number].run(s, step); err != nil {
		refuse(err)
		return false, nil
	}
	if d.blocking && s.executable.plan.Collects == 0 {
		r := d.API.SynchronizeStream(s.stream())
		return true, d.orLost(driver.Check(d.API, r, "cuStreamSynchronize", "%s: %s", step.Scope, step.Name))
	}
	return true, nil
}

// calls lists the libraries that take part in the session's steps.
func (s *session) calls() (refuse []func(*device, error)) {
	var blas, dnn bool
	for _, c := range s.called {
		switch c.(type) {
		case blasCall:
			blas = true
		case dnnCall:
			dnn = true
		}
	}
	if d := s.device; blas && d.blas.used() {
		refuse = append(refuse, d.blas.refuse)
	}
	if d := s.device; dnn && d.dnn.used() {
		refuse = append(refuse, d.dnn.refuse)
	}
	return refuse
}

func (s *session) closeCalls() {
	if !slices.ContainsFunc(s.called, func(c called) bool { return c != nil }) {
		return
	}
	s.device.enqueue(func() error { // a lost device has released them
		for _, c := range s.called {
			if c != nil {
				c.Close()
			}
		}
		return nil
	})
	s.called = nil
}
