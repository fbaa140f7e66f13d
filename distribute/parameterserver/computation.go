package parameterserver

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/gokeras/gokeras/distribute/internal/programs"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Constraints that users define are programs, which servers run on the CPU after each update.
func init() { protocol.RegisterComputation(openComputation) }

// computation is a constraint's program with its memory.
type computation struct {
	session kernels.Session
	in, out kernels.Buffer
}

// openComputation compiles the program of a constraint, which maps values of the given shape to new ones.
func openComputation(text, hash string, shape []int) (protocol.Computation, error) {
	p, err := programs.Decode(text)
	if err != nil {
		return nil, err
	}
	if p.Hash() != hash {
		return nil, fmt.Errorf("%w: its hash is another one than it is said to have", programs.ErrProgram)
	}
	t := ir.Type{DType: ir.Float32, Shape: shape}
	if len(p.Inputs) != 1 || len(p.Outputs) != 1 || p.Outputs[0].Alias >= 0 || !p.Type(p.Inputs[0].Value).Equal(t) || !p.Type(p.Outputs[0].Value).Equal(t) {
		return nil, fmt.Errorf("%w that makes values of type %v of others", programs.ErrProgram, t)
	}
	device := kernels.Device{Kind: "cpu"}
	backend, err := kernels.Lookup(device.Kind)
	if err != nil {
		return nil, err
	}
	e, err := backend.Compile(p, kernels.CompileOptions{Device: device})
	if err != nil {
		return nil, err
	}
	var c *computation // made with the first values
	return func(values []float32) error {
		if c == nil {
			made := &computation{}
			if made.in, err = backend.NewBuffer(device, t); err != nil {
				return err
			}
			if made.out, err = backend.NewBuffer(device, t); err != nil {
				return err
			}
			if made.session, err = e.NewSession(kernels.SessionOptions{Device: device}); err != nil {
				return err
			}
			c = made
		}
		return c.run(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values)))
	}, nil
}

func (c *computation) run(values []byte) error {
	if err := c.in.Write(values); err != nil {
		return err
	}
	if err := c.session.Launch(context.Background(), kernels.Launch{Inputs: []kernels.Buffer{c.in}, Outputs: []kernels.Buffer{c.out}}).Wait(context.Background()); err != nil {
		return err
	}
	return c.out.Read(values)
}
