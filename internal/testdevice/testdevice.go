// Package testdevice lets the tests that compare with numbers of Keras run on a device of choice, with the tolerances
// that they have anyway.
//
// GOKERAS_TEST_DEVICE names the device, "cuda:0", say. Without it, tests run where they always do: by the reference or
// on the CPU. Programs that are built with the tag cuda have GPUs; with the tag cudafake also "ptx:0", whose kernels
// are interpreted. The package is for tests.
package testdevice

import (
	"context"
	"os"
	"sync"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Name is the device, "" for none.
func Name() string { return os.Getenv("GOKERAS_TEST_DEVICE") }

// Strategy is the default one, or everything on the device. It panics where there is no such device.
var Strategy = sync.OnceValue(func() distribute.Strategy {
	if Name() == "" {
		return distribute.Default()
	}
	s, err := distribute.NewOneDeviceStrategy(Name())
	if err != nil {
		panic(err)
	}
	return s
})

// Place puts the variables on the device.
func Place(variables []*distribute.Variable) error {
	for _, v := range variables {
		if Name() != "" {
			if err := v.Place(Strategy(), 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// Run runs a program by the reference, which rounds to the types of the values, or on the device.
func Run(p *ir.Program, in []reference.Value) ([]reference.Value, error) {
	if Name() == "" {
		return reference.Interpreter{Round: true}.Run(p, in)
	}
	d, err := kernels.ParseDevice(Name())
	if err != nil {
		return nil, err
	}
	b, err := kernels.Lookup(d.Kind)
	if err != nil {
		return nil, err
	}
	e, err := kernels.Load(b, p, d)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	var inputs, outputs []kernels.Buffer
	defer func() {
		for _, x := range append(inputs, outputs...) {
			x.Free()
		}
	}()
	for i, v := range in {
		x, err := b.NewBuffer(d, p.Type(p.Inputs[i].Value))
		if err != nil {
			return nil, err
		}
		if inputs = append(inputs, x); len(v.Bytes()) > 0 {
			if err := x.Write(v.Bytes()); err != nil {
				return nil, err
			}
		}
	}
	for _, out := range p.Outputs {
		x, err := b.NewBuffer(d, p.Type(out.Value))
		if err != nil {
			return nil, err
		}
		outputs = append(outputs, x)
	}
	if err := e.Run(context.Background(), inputs, outputs); err != nil {
		return nil, err
	}
	return read(p, outputs)
}

// read returns the numbers of the results.
func read(p *ir.Program, outputs []kernels.Buffer) ([]reference.Value, error) {
	var out []reference.Value
	for i, x := range outputs {
		t := p.Type(p.Outputs[i].Value)
		data := make([]byte, t.Bytes())
		if err := x.Read(data); err != nil {
			return nil, err
		}
		v, err := reference.FromBytes(t, data)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
