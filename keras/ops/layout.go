package ops

import "github.com/gokeras/gokeras/kernels/ir"

// WithLayout says how a tensor is laid out if the program is divided over a mesh of devices: axis i is divided along
// axis axes[i] of the mesh, or not divided if that is -1. mesh has the number of devices along each axis. A tensor with
// another layout is moved. The numbers do not change, gradients have the same layout, and programs of one device do
// nothing. Programs call DistributeTensor of keras/distribution, which knows the names of the axes.
func WithLayout(x *Tensor, mesh, axes []int) *Tensor {
	return apply1(ir.Identity, ir.LayoutAttrs{Mesh: mesh, Axes: axes}, x).WithMask(x.mask)
}

// laidOut reports whether a node was made by WithLayout. Other identity nodes stop gradients.
func laidOut(n ir.Node) bool {
	_, ok := n.Attrs.(ir.LayoutAttrs)
	return ok
}

func init() {
	rules[ir.Identity] = func(c *vjp) []*Tensor {
		if !laidOut(c.node) {
			return zeroGradient(c)
		}
		return []*Tensor{apply1(ir.Identity, c.node.Attrs, c.dy(0))}
	}
}
