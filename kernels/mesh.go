package kernels

import "github.com/gokeras/gokeras/kernels/ir"

// Partitioner is implemented by backends whose compiler can spread one program over several devices, with arrays that
// are cut into parts: XLA's.
type Partitioner interface {
	Backend
	// NewMesh makes one device of several. Programs for it are those of a single device; inputs and variables lie in
	// parts on the devices of the mesh, and the compiler inserts what these must exchange. The mesh stays for as long
	// as the process runs.
	NewMesh(o MeshOptions) (Device, error)
}

// MeshOptions describe a mesh.
type MeshOptions struct {
	// Devices are those of the mesh, of one backend, in row-major order of Shape.
	Devices []Device
	// Shape has the number of devices along each axis of the mesh.
	Shape []int
	// Layouts says how the inputs of a program are cut: for each of them the axis of the mesh along which each axis of
	// the input is cut, -1 where it is not. nil is a whole copy on every device. Inputs "in0", "in1", ... are data, the
	// others are variables by their paths.
	Layouts func(p *ir.Program) ([][]int, error)
}
