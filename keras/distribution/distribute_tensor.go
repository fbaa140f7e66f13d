package distribution

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
)

// DistributeTensor sets the layout of a tensor on the mesh of the model's distribution:
// keras.distribution.distribute_tensor. The returned tensor has the same values; its gradient is also unchanged, and
// gets the same layout. It saves memory or communication if the partitioner would have chosen another layout. An axis
// whose length does not divide evenly stays whole. A layout for a mesh whose shape differs from the distribution's is
// an error when the program is compiled. Without a distribution nothing happens.
//
// A [LayoutMap] can also set the layout of a layer's result; the key is the layer's path and "/output".
func DistributeTensor(x *ops.Tensor, l *TensorLayout) *ops.Tensor {
	if l == nil {
		ops.Failf(x.Graph(), "distribution: DistributeTensor: the layout is nil; make one with NewTensorLayout")
	}
	if len(l.axes) != x.Rank() {
		ops.Failf(x.Graph(), "distribution: DistributeTensor: the layout names %d axes, %q; the tensor has the shape %v", len(l.axes), l.axes, x.Shape())
	}
	return ops.WithLayout(x, slices.Clone(l.mesh.shape), l.numbers())
}

// DistributeVariable sets the layout of a variable, which overrides that of the layout map: Keras's Variable(layout=).
// Its optimizer slots get the same layout. It takes effect for programs compiled later, so call it before the model is
// trained.
func (d *parallel) DistributeVariable(v *distribute.Variable, l *TensorLayout) error {
	if v == nil || l == nil {
		return fmt.Errorf("distribution: DistributeVariable: received the variable %v and the layout %v; expected both", v, l)
	}
	if shape := v.Spec().Shape; len(l.axes) != len(shape) {
		return fmt.Errorf("distribution: DistributeVariable: the layout names %d axes, %q; the variable %s has the shape %v", len(l.axes), l.axes, v.Path(), shape)
	}
	if !slices.Equal(l.mesh.shape, d.mesh.shape) || !slices.Equal(l.mesh.names, d.mesh.names) {
		return fmt.Errorf("distribution: DistributeVariable: the layout of %s is for %v, the distribution has %v", v.Path(), l.mesh, d.mesh)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.own == nil {
		d.own = map[string]*TensorLayout{}
	}
	d.own[v.Path()] = l
	return nil
}
