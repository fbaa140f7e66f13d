//go:build linux

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// Kernels that share a launch do not depend on each other: in no random program do threads touch the same memory in an
// order that nothing decides.
func TestNoRaces(t *testing.T) {
	f := fakedriver.New(fakedriver.Options{Races: true})
	b := on(t, f)
	d := kernels.Device{Kind: Kind}
	for seed := range uint64(kernelstest.RandomPrograms) {
		if testing.Short() && seed%10 != 0 {
			continue
		}
		p, inputs := kernelstest.RandomProgram(seed)
		e, err := kernels.Load(b, p, d)
		require.NoError(t, err)
		all := make([]kernels.Buffer, 0, len(inputs)+len(p.Outputs))
		buffer := func(typ ir.Type, data []byte) {
			x, err := b.NewBuffer(d, typ)
			require.NoError(t, err)
			if data != nil {
				require.NoError(t, x.Write(data))
			}
			all = append(all, x)
		}
		for _, in := range inputs {
			buffer(in.Type, in.Bytes())
		}
		for _, out := range p.Outputs {
			if out.Alias >= 0 {
				all = append(all, nil)
				continue
			}
			buffer(p.Type(out.Value), nil)
		}
		require.NoError(t, e.Run(t.Context(), all[:len(inputs)], all[len(inputs):]), "%v", p)
		require.NoError(t, f.Fault(), "%v", p)
		e.Close()
		for _, x := range all {
			if x != nil {
				x.Free()
			}
		}
	}
}
