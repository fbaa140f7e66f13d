package kernels

import (
	"context"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Loaded is a program on one device with everything needed to run it and wait.
type Loaded struct {
	Executable
	Session      Session
	Communicator Communicator // of a program with collectives
}

// Load compiles a program for a single replica on a device.
func Load(b Backend, p *ir.Program, d Device) (*Loaded, error) {
	return LoadReplica(b, p, d, nil)
}

// LoadReplica compiles a program for the replica of a communicator.
func LoadReplica(b Backend, p *ir.Program, d Device, c Communicator) (*Loaded, error) {
	o, s := CompileOptions{Device: d, Replicas: 1, TF32: AllowsTF32()}, SessionOptions{Device: d}
	if c != nil {
		o.Replicas, s.Replica = c.Replicas(), c.Replica()
		_, o.Overlap = c.(Overlapper)
	}
	e, err := b.Compile(p, o)
	if err != nil {
		return nil, err
	}
	session, err := e.NewSession(s)
	if err != nil {
		e.Close()
		return nil, err
	}
	return &Loaded{e, session, c}, nil
}

// Run launches the program and waits for its end; see [Session].
func (l *Loaded) Run(ctx context.Context, inputs, outputs []Buffer) error {
	return l.Session.Launch(ctx, Launch{Inputs: inputs, Outputs: outputs, Communicator: l.Communicator}).Wait(ctx)
}

// Close releases memory and program.
func (l *Loaded) Close() {
	l.Session.Close()
	l.Executable.Close()
}
