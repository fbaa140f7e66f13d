package kernels

import (
	"context"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Partitioner is implemented by backends whose compiler, such as XLA's, can partition one program and its arrays over
// several devices. Package kernels/partition does so for all other backends.
type Partitioner interface {
	Backend
	// NewMesh combines several devices into one. Programs for it are programs for a single device. Inputs and variables
	// are divided over the devices of the mesh, and the compiler inserts the communication. The mesh exists until the
	// process ends.
	NewMesh(o MeshOptions) (Device, error)
}

// MeshOptions describe a mesh.
type MeshOptions struct {
	// Devices are the devices of the mesh, of one backend, in row-major order of Shape.
	Devices []Device
	// Shape has the number of devices along each axis of the mesh.
	Shape []int
	// Layouts says how the inputs of a program are divided: for each axis of each input, the axis of the mesh along
	// which it is divided, or -1. nil is a full copy on every device. Inputs "in0", "in1", ... are data; the others are
	// variables, named by their paths.
	Layouts func(p *ir.Program) ([][]int, error)
	// Span describes a mesh over the devices of several processes, for which Devices is empty; nil: all devices are of
	// this process.
	Span *MeshSpan
}

// MeshSpan is what a mesh over the devices of several [Hosts] needs. Each process has some of the devices. All
// processes make the mesh, compile programs for it and launch them, in the same order: every run involves all devices.
// All write the same values; a process puts the parts for its own devices there, and reads from these. An array with
// parts on other processes is read by all together.
type MeshSpan struct {
	// Cores are the devices in row-major order of the mesh, as their numbers among those of all processes
	// ([Core.Number]).
	Cores []int
	// Exchange gives every process the bytes of all. name identifies the exchange, and must be equal on all.
	Exchange func(ctx context.Context, name string, own []byte) ([][]byte, error)
	// Broken is told that the connection to the others no longer works; see [CommunicatorOptions].
	Broken func(err error) error
	// Ended is closed when the processes have parted, for the reason that Why returns. nil: nobody notices.
	Ended <-chan struct{}
	Why   func() error
}
