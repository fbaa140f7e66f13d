package protocol

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/recorded"
)

// TestRandomRules: what tables end with after random dense and sparse gradients with duplicates is what Keras's
// optimizers end with, and TensorFlow's sparse kernels where other rows are left alone; in tables that grow too.
func TestRandomRules(t *testing.T) {
	file := recorded.JSON[struct {
		Cases []struct {
			Name        string
			Rule        Rule
			Rate        float64
			Rows, Width int
			First, Last []float32
			Steps       []struct {
				Sparse   bool
				IDs      []int64
				Gradient []float32
			}
		}
	}](t, "testdata/random_rules.json.gz")
	require.Len(t, file.Cases, 144)
	for n, c := range file.Cases {
		all := make([]int64, c.Rows)
		for i := range all {
			all[i] = int64(i)
		}
		for _, dynamic := range []bool{false, true} {
			d := Definition{Name: "t", Rows: c.Rows, Width: c.Width, Rule: c.Rule}
			if dynamic {
				d.Rows, d.Dynamic = 0, true
			}
			s := started(t, d)
			table := s.tables[0]
			first := Update{Op: Assign, Values: c.First}
			if dynamic {
				first.Sparse, first.IDs = true, all
			}
			execute(t, s, push(1, first))
			for i, step := range c.Steps {
				ids := slices.Clone(step.IDs)
				slices.Sort(ids)
				ids = slices.Compact(ids)
				u := Update{Op: Gradient, Rate: c.Rate, IDs: ids, Sparse: step.Sparse || dynamic, Values: make([]float32, len(ids)*c.Width)}
				for k, id := range step.IDs { // workers sum the rows of equal ids
					at, _ := slices.BinarySearch(ids, id)
					for j := range c.Width {
						u.Values[at*c.Width+j] += step.Gradient[k*c.Width+j]
					}
				}
				if !u.Sparse {
					u.IDs = nil
				}
				execute(t, s, push(uint64(i)+2, u))
			}
			got, err := table.Read(nil, all)
			require.NoError(t, err)
			for i, want := range c.Last {
				require.InDelta(t, want, got[i], 3e-5*(1+math.Abs(float64(want))), "case %d, %s %+v, dynamic %v, element %d of %d rows", n, c.Name, c.Rule, dynamic, i, c.Rows)
			}
		}
	}
}
