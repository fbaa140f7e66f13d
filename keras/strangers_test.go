package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// hiding makes a member in Build, and registers it only if it adopts it.
type hiding struct {
	layers.Base
	made   func() layers.Layer
	adopts bool
	member layers.Layer
}

func (l *hiding) Build(b *layers.Builder, _ []ir.Shape) {
	l.member = l.made()
	if l.adopts {
		b.Adopt(l.member)
	}
}

func (l *hiding) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{layers.Invoke(l.member, c, in[0])}
}

type holding struct{ Inner layers.Layer }

func (h *holding) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return layers.Invoke(h.Inner, c, x)
}

// TestHiddenMember: a member that its layer did not adopt is an error as soon as shapes are inferred, because files
// would lack its weights, including statistics that are not trained.
func TestHiddenMember(t *testing.T) {
	dense := func() layers.Layer { return &layers.Dense{Units: 1} }
	statistics := func() layers.Layer { return &layers.BatchNormalization{NoCenter: true, NoScale: true} }
	nested := func() layers.Layer { return &hiding{made: dense, adopts: true} }
	dropout := func() layers.Layer { return &layers.Dropout{Rate: 0.5} }
	sequential := func(l layers.Layer) error {
		_, err := keras.NewSequential([]layers.Layer{l}, keras.InputShape(4))
		return err
	}
	functional := func(l layers.Layer) error {
		x := keras.Input(keras.Shape(4))
		_, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.Apply(l, x)))
		return err
	}
	subclass := func(l layers.Layer) error {
		m, err := keras.NewModel(&holding{l})
		require.NoError(t, err)
		return predict(m, data.Arrays(grid(3, 4), nil))
	}
	for _, make := range []func(layers.Layer) error{sequential, functional, subclass} {
		require.ErrorContains(t, make(&hiding{made: dense}), `/hiding calls the layer "dense", whose weights (dense/kernel, ...) would be neither trained nor saved`)
		require.ErrorContains(t, make(&hiding{made: statistics}), "call b.Adopt on it there")
		require.ErrorContains(t, make(&hiding{made: nested}), `/hiding calls the layer "hiding", whose weights`)
		require.NoError(t, make(&hiding{made: dense, adopts: true}))
		require.NoError(t, make(&hiding{made: nested, adopts: true}))
		require.NoError(t, make(&hiding{made: dropout}))
	}
}
