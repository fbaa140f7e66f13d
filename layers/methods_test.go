package layers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

type passing struct{ layers.Base }

func (*passing) Forward(_ *layers.Context, in []*ops.Tensor) []*ops.Tensor { return in }

type wrongBuild struct{ passing }

func (*wrongBuild) Build(_ *layers.Builder, _ ir.Shape) {}

type failingBuild struct{ passing }

func (*failingBuild) Build(_ *layers.Builder, _ []ir.Shape) error { return nil }

type wrongMasking struct{ passing }

func (wrongMasking) SupportsMasking() (bool, error) { return true, nil }

type wrongMask struct{ passing }

func (*wrongMask) ComputeMask(_ *layers.Context, in []*ops.Tensor) []*ops.Tensor { return in }

type rightForms struct{ passing }

func (*rightForms) Build(*layers.Builder, []ir.Shape) {}
func (*rightForms) SupportsMasking() bool             { return true }
func (*rightForms) ComputeMask(_ *layers.Context, _, _ []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{nil}
}

type around struct {
	passing
	Inner layers.Layer
}

func (a *around) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return layers.InvokeAll(a.Inner, c, in...)
}

type building struct {
	passing
	inner layers.Layer
}

func (b *building) Build(to *layers.Builder, in []ir.Shape) { to.BuildMember(b.inner, in...) }

// TestMethodsOfAnotherForm: a method with the name of an optional method of layers but another signature, which nothing
// would call, is an error.
func TestMethodsOfAnotherForm(t *testing.T) {
	call := func(l layers.Layer) (err error) {
		defer ops.Catch(&err)
		r := distribute.NewReplica("test", 1, 1, 1)
		layers.InvokeAll(l, r.Inference(), r.Graph().Input("x", ir.Float32, 2, 3))
		return nil
	}
	for _, row := range []struct {
		layer layers.Layer
		want  string
	}{
		{&wrongBuild{}, "*layers_test.wrongBuild has a method Build of the form func(*layers.Builder, ir.Shape), which nothing calls; expected func(b *layers.Builder, inputs []ir.Shape)"},
		{&failingBuild{}, "has a method Build of the form func(*layers.Builder, []ir.Shape) error"},
		{&wrongMasking{}, "has a method SupportsMasking of the form func() (bool, error), which nothing calls; expected func() bool"},
		{&wrongMask{}, "has a method ComputeMask of the form func(*layers.Context, []*ops.Tensor) []*ops.Tensor"},
	} {
		require.ErrorContains(t, call(row.layer), row.want)
		require.ErrorContains(t, call(&around{Inner: row.layer}), row.want)
		require.ErrorContains(t, call(&building{inner: row.layer}), row.want)
	}
	require.NoError(t, call(&rightForms{}))
	require.NoError(t, call(&passing{}))
}
