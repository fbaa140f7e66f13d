package zerocalls_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// Layers of users: with a variable of its own, with a member that its Build builds, and one that extends a layer.
type (
	ownWeight struct {
		layers.Base
		kernel *distribute.Variable
	}
	ownMember struct {
		layers.Base
		Inner layers.Dense
	}
	extended struct{ layers.Dense }
)

func (l *ownWeight) Build(b *layers.Builder, in []ir.Shape) {
	l.kernel = b.AddWeight("kernel", in[0][1:], layers.WeightOptions{})
}

func (l *ownWeight) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Multiply(in[0], c.Read(l.kernel))}
}

func (l *ownMember) Build(b *layers.Builder, in []ir.Shape) { b.BuildMember(&l.Inner, in...) }

func (l *ownMember) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return l.Inner.Forward(c, in)
}

func (l *extended) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Relu(l.Dense.Forward(c, in)[0])}
}

// TestForwardUnbuilt: Forward of a layer that no one has built, with any settings, either works or says what is wrong.
func TestForwardUnbuilt(t *testing.T) {
	all := maps.Clone(structs)
	all["ownWeight"], all["ownMember"], all["extended"] = reflect.TypeFor[ownWeight](), reflect.TypeFor[ownMember](), reflect.TypeFor[extended]()
	refused := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !reflect.PointerTo(all[name]).Implements(reflect.TypeFor[layers.Layer]()) {
			continue
		}
		for round := range 150 {
			d := newDrawn(rand.New(rand.NewPCG(uint64(round), 7)))
			l := reflect.New(all[name])
			if round >= 8 {
				d.fill(l.Elem(), 0)
			}
			in := d.tensors[:1+d.IntN(3)]
			if rank := 1 + round%8; rank <= 5 { // shapes that fit each other
				for i := range in {
					in[i] = d.g.Input(fmt.Sprint("fit", i), ir.Float32, []int{2, 3, 4, 4, 5}[:rank]...)
				}
			}
			forward := reflect.ValueOf(func() []*ops.Tensor { return l.Interface().(layers.Layer).Forward(d.replica.Inference(), in) })
			out, wrong := outputOf(forward, nil)
			if wrong != "" {
				t.Errorf("%s, round %d: %s", name, round, wrong)
			}
			if out == nil {
				refused++
			}
		}
	}
	require.Greater(t, refused, 1000)
}
