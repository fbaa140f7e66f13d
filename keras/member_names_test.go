package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// namedPair adopts two layers and gives them the names it is told.
type namedPair struct {
	layers.Base
	names       []string
	first, last *layers.Dense
}

func (l *namedPair) Build(b *layers.Builder, _ []ir.Shape) {
	l.first, l.last = &layers.Dense{Units: 2}, &layers.Dense{Units: 1}
	b.Adopt(l.first, l.last)
}

func (l *namedPair) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{layers.Invoke(l.last, c, layers.Invoke(l.first, c, in[0]))}
}

func (l *namedPair) MemberAttributes() []string { return l.names }

// TestMemberAttributesNameAll: too few names, or too many, are an error when the layer is built.
func TestMemberAttributesNameAll(t *testing.T) {
	for _, names := range [][]string{nil, {"first"}, {"first", "last", "more"}} {
		_, err := keras.NewSequential([]layers.Layer{&namedPair{names: names}}, keras.InputShape(3))
		require.ErrorContains(t, err, "named_pair: MemberAttributes of *keras_test.namedPair returns")
		require.ErrorContains(t, err, `for 2 layers inside, ["dense" "dense_1"]: name each`)
		require.ErrorContains(t, err, "`keras:\"name,attribute\"`")
	}
	sequential(t, []keras.Option{keras.InputShape(3)}, &namedPair{names: []string{"first", "last"}})
	sequential(t, []keras.Option{keras.InputShape(3)}, &namedPair{names: []string{"parts", "parts"}})
}
