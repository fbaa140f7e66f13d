package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

type identity struct{}

func (identity) Call(_ *layers.Context, x *ops.Tensor) *ops.Tensor { return x }

type assemblesAlone struct{ identity }

func (*assemblesAlone) Assemble() {}

type buildsItself struct {
	identity
	queue *distribute.Variable
}

func (m *buildsItself) Build(b *layers.Builder, _ []ir.Shape) {
	m.queue = b.AddWeight("queue", ir.Shape{4, 2}, layers.WeightOptions{Frozen: true})
}

type buildsInAnotherForm struct{ identity }

func (*buildsInAnotherForm) Build(*layers.Builder, ir.Shape) {}

type buildsForItself struct{ identity }

func (*buildsForItself) Build() error { return nil }

// TestMethodsThatNewModelDoesNotCall: a method that would make layers or weights is not silently ignored.
func TestMethodsThatNewModelDoesNotCall(t *testing.T) {
	_, err := keras.NewModel(&assemblesAlone{})
	require.EqualError(t, err, "keras: NewModel: *keras_test.assemblesAlone: method Assemble has the form func(); expected func() error")
	_, err = keras.NewModel(&buildsItself{})
	require.ErrorContains(t, err, "*keras_test.buildsItself has a method Build, which is that of layers: a model's own weights belong to a layer in one of its exported fields")
	_, err = keras.NewModel(&buildsInAnotherForm{})
	require.ErrorContains(t, err, "*keras_test.buildsInAnotherForm has a method Build, which is that of layers")
	for _, fine := range []any{&identity{}, &buildsForItself{}} {
		_, err = keras.NewModel(fine)
		require.NoError(t, err)
	}
}
