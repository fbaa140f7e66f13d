//go:build linux

package pjrt_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/pjrt"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Convolutions, pooling and their gradients have the results of the reference on meshes of two axes, however their
// operands lie: images that are divided along one axis and copied along the other are what partitioners sum too often.
func TestMeshConvolutions(t *testing.T) {
	b := pjrt.New("convolved", plugin(t), pjrt.Option{Name: "cpu_device_count", Value: int64(6)})
	layouts, every := uint64(4), 1
	if testing.Short() {
		layouts, every = 1, 5
	}
	var cases []kernelstest.Case
	for _, c := range kernelstest.Selected() {
		if strings.Contains(c.Name, "/float32") && (strings.HasPrefix(c.Name, "conv/") || strings.HasPrefix(c.Name, "conv_") || strings.Contains(c.Name, "pool")) {
			cases = append(cases, c)
		}
	}
	require.NotEmpty(t, cases)
	for i, shape := range [][]int{{3, 2}, {2, 2}} {
		for seed := range layouts {
			backend, d := drawnMesh(t, b, shape, uint64(i)+100*seed)
			for j := int(seed) + i; j < len(cases); j += every {
				c := cases[j]
				want, err := reference.Run(c.Program, c.Inputs)
				require.NoError(t, err)
				got, err := runOnce(t, backend, d, c.Program, c.Inputs)
				if err != nil {
					t.Errorf("%s on %v, layout %d: %v", c.Name, shape, seed, err)
					continue
				}
				for k := range want {
					if err := kernelstest.Compare(got[k], want[k], 2*c.Units, c.Whole); err != nil {
						t.Errorf("%s on %v, layout %d: output %d: %v", c.Name, shape, seed, k, err)
					}
				}
			}
		}
	}
}
