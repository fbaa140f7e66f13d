package kernels

import "github.com/gokeras/gokeras/kernels/ir"

// Partitioner is implemented by backends whose compiler, such as XLA's, can partition one program and its arrays over
// several devices. Package kernels/partition does so for all other backends.
type Partitioner interface {
	Backend
	// NewMesh makes one device of several. Programs for it are those of a single device; inputs and variables are
	// divided over the devices of the mesh, and the compiler inserts the communication. The mesh exists until the
	// process ends.
	NewMesh(o MeshOptions) (Device, error)
}

// MeshOptions describe a mesh.
type MeshOptions struct {
	// Devices are those of the mesh, of one backend, in row-major order of Shape.
	Devices []Device
	// Shape has the number of devices along each axis of the mesh.
	Shape []int
	// Layouts says how the inputs of a program are divided: for each axis of each input, the axis of the mesh along
	// which it is divided, or -1. nil is a full copy on every device. Inputs "in0", "in1", ... are data, the others are
	// variables by their paths.
	Layouts func(p *ir.Program) ([][]int, error)
}
