package layers_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// clumsy is a user's layer with a mistake in one of its methods.
type clumsy struct {
	layers.Base
	how   string
	Parts []*layers.Dense
}

func (l *clumsy) Build(b *layers.Builder, in []ir.Shape) {
	if l.how == "Build" {
		_ = in[1]
	}
	for range 2 {
		l.Parts = append(l.Parts, &layers.Dense{Units: 3})
	}
}

func (l *clumsy) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	if l.how == "Forward" {
		panic("a mistake")
	}
	return []*ops.Tensor{layers.Invoke(l.Parts[1], c, layers.Invoke(l.Parts[0], c, in[0]))}
}

func (l *clumsy) ComputeMask(_ *layers.Context, in, _ []*ops.Tensor) []*ops.Tensor {
	switch l.how {
	case "ComputeMask":
		_ = in[2]
	case "masks":
		return make([]*ops.Tensor, 2)
	}
	return nil
}

// TestUsersLayersPanic: a panic in a user's layer becomes an error that names the layer and the source line.
func TestUsersLayersPanic(t *testing.T) {
	for how, want := range map[string]string{
		"Build":       "clumsy: Build panicked: runtime error: index out of range [1] with length 1",
		"Forward":     "clumsy: Forward panicked: a mistake",
		"ComputeMask": "clumsy: ComputeMask panicked: runtime error: index out of range [2] with length 1",
		"masks":       "ComputeMask returned 2 masks for 1 results",
	} {
		y := layers.Apply(&clumsy{how: how}, layers.NewInput("x", ir.Float32, layers.Unknown, 2))
		require.ErrorContains(t, y.Err(), want)
		var p *distribute.PanicError
		require.Equal(t, how != "masks", errors.As(y.Err(), &p))
		if p != nil {
			require.Contains(t, string(p.Stack), "outsider_test.go")
		}
	}
}

// TestLayersThatBuildMakes: layers that Build stores in exported fields belong to the layer, and have the names of the
// fields in files.
func TestLayersThatBuildMakes(t *testing.T) {
	l := &clumsy{}
	require.NoError(t, layers.Apply(l, layers.NewInput("x", ir.Float32, layers.Unknown, 2)).Err())
	require.Len(t, layers.Weights(l), 4)
	a := layers.AttributesOf(l)
	require.Len(t, a, 1)
	require.Equal(t, "parts", a[0].Name)
	require.Len(t, a[0].List, 2)
}

// remade makes its layer in Build, and accepts only inputs of two numbers.
type remade struct {
	layers.Base
	Inner layers.Layer
}

func (l *remade) Build(*layers.Builder, []ir.Shape) { l.Inner = &layers.Dense{Units: 3} }

func (l *remade) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	y := layers.Invoke(l.Inner, c, in[0])
	if in[0].Dim(-1) != 2 {
		panic("not two")
	}
	return []*ops.Tensor{y}
}

// TestLayersOfAFailedBuild: the layers that Build made in a failed call are discarded, and their names are free again.
func TestLayersOfAFailedBuild(t *testing.T) {
	l := &remade{}
	for range 2 {
		require.ErrorContains(t, layers.Apply(l, layers.NewInput("x", ir.Float32, layers.Unknown, 5)).Err(), "not two")
	}
	require.NoError(t, layers.Apply(l, layers.NewInput("x", ir.Float32, layers.Unknown, 2)).Err())
	require.Len(t, layers.Sublayers(l), 1)
	require.Equal(t, "dense", layers.Name(l.Inner))
	require.Len(t, layers.Weights(l), 2)
}
