//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/cublas"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/libraries"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Where the machine has NVIDIA's cuBLASLt, large products of matrices may be its. A plan has both, the library's
// product and our kernels, because a call of the library may fail: then the device does without it from then on.

// blas is cuBLASLt of one device.
type blas struct {
	mu  sync.Mutex
	api cublas.API
	err error // why it is not used
}

// warn says once for each device that a library which was found is not used. Tests replace it.
var warn = func(text string) { fmt.Fprintln(os.Stderr, text) }

// open returns the library; the caller has the device's context.
func (l *blas) open(b *backend, d *device) (cublas.API, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.api == nil && l.err == nil {
		found := b.findsBLAS()
		if found.Path == "" || found.Problem != "" {
			l.err = errors.New(found.String())
			return nil, l.err
		}
		var err error
		if l.api, err = b.openBLAS(found.Path); err != nil {
			l.refused(d, err)
		}
	}
	return l.api, l.err
}

// used reports whether the library is in use.
func (l *blas) used() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.api != nil && l.err == nil
}

// refuse does without the library from now on.
func (l *blas) refuse(d *device, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.refused(d, err)
	}
}

func (l *blas) refused(d *device, err error) {
	l.err = err
	warn(fmt.Sprintf("cuda: %v goes on without cuBLASLt: %v", d.name, err))
}

// close gives the library back; the caller has the device's context.
func (l *blas) close() error {
	if l.api == nil {
		return nil
	}
	return l.api.Close()
}

// findsBLAS looks for cuBLASLt, once.
func (b *backend) findsBLAS() libraries.Found {
	b.looking.Do(func() {
		b.foundLT.Name = "cuBLASLt"
		if version, r := b.api.Version(); r == driver.Success && b.findBLAS != nil {
			b.foundLT = b.findBLAS(version)
		}
	})
	return b.foundLT
}

// libraryPicker says which products of programs with these options cuBLASLt makes; nil: none.
func (b *backend) libraryPicker(name kernels.Device, o lower.Options) func(lower.Question) bool {
	if b.pickBLAS != nil {
		return b.pickBLAS
	}
	if b.findBLAS == nil || b.tuning == nil || o.Replicas > 1 || os.Getenv(tuningVariable) == "off" {
		return nil
	}
	return func(q lower.Question) bool { return b.tuning.library(b, name, o, q) }
}

// types are those of the library.
var types = map[ir.DType]cublas.Type{ir.Float32: cublas.Float32, ir.Float16: cublas.Float16, ir.BFloat16: cublas.BFloat16}

func problem(p *lower.Product) cublas.Problem {
	operand := func(m lower.Matrix) cublas.Operand {
		return cublas.Operand{Turned: m.Turned, Stride: int64(m.Stride), Batch: int64(m.Batch)}
	}
	return cublas.Problem{M: int64(p.M), N: int64(p.N), K: int64(p.K), Batch: int64(p.Batch), In: types[p.In], Out: types[p.Out], TF32: p.TF32, A: operand(p.A), B: operand(p.B)}
}

// multiply puts a product of the library into the stream, with what follows it; our own kernels where it fails.
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

// byLibrary reports whether the library has made the product. The caller has the context.
func (s *session) byLibrary(step *lower.Step) (done bool, failed error) {
	d := s.device
	api, err := d.blas.open(s.executable.backend, d)
	if err != nil {
		return false, nil
	}
	if s.products == nil {
		s.products = make([]cublas.Product, s.executable.plan.Products)
	}
	product := &s.products[step.Product.Number]
	if *product == nil {
		if *product, err = api.Prepare(problem(step.Product)); err != nil {
			*product = nil
			d.blas.refuse(d, fmt.Errorf("layer %s: %w", step.Scope, err))
			return false, nil
		}
	}
	if t := s.timing; t != nil {
		if err := t.start(d, step, s.stream()); err != nil {
			return false, err
		}
		defer func() { failed = errors.Join(failed, t.stop(d, s.stream())) }()
	}
	at := func(i int) uint64 { return uint64(s.place(step.Args[i].Place)) }
	if err := (*product).Run(at(0), at(1), at(2), at(3), uint64(s.stream())); err != nil {
		d.blas.refuse(d, fmt.Errorf("layer %s: %w", step.Scope, err))
		return false, nil
	}
	if d.blocking && s.executable.plan.Collects == 0 {
		r := d.API.SynchronizeStream(s.stream())
		return true, d.orLost(driver.Check(d.API, r, "cuStreamSynchronize", "%s: %v by cuBLASLt", step.Scope, step.Op))
	}
	return true, nil
}

// multiplies reports whether the library makes products of the session.
func (s *session) multiplies() bool {
	return slices.ContainsFunc(s.products, func(p cublas.Product) bool { return p != nil }) && s.device.blas.used()
}

func (s *session) closeProducts() {
	if !slices.ContainsFunc(s.products, func(p cublas.Product) bool { return p != nil }) {
		return
	}
	s.device.enqueue(func() error { // a device that is lost has taken them along
		for _, p := range s.products {
			if p != nil {
				p.Close()
			}
		}
		return nil
	})
	s.products = nil
}
