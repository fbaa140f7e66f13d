package protocol

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// constrained are numbers of the shape (2, 3, 4), and what the constraints of Keras 3.15 make of them.
var constrained = []float32{0.51800001, 1.232, 0.49599999, -1.955, 1.358, 0.67000002, -0.80500001, 0.87199998, 0.54699999, 0.44100001, 0.043000001, 0.81999999, -1.105, -0.244, -0.72299999, 0.898, 0.059999999, -0.43900001, -1.173, -0.38600001, 0.012, -0.41299999, 1.941, 1.51}

var constraintCases = []struct {
	of   Constraint
	want []float32
}{
	{Constraint{Kind: MaxNorm, Axes: 1, Max: 1.5}, []float32{0.51799995, 1.2319999, 0.49599993, -1.3630797, 1.3579999, 0.66999996, -0.80499995, 0.87199986, 0.54699987, 0.44099993, 0.033222143, 0.71583039, -1.1049999, -0.24399997, -0.72299993, 0.6261102, 0.059999995, -0.43899995, -1.1729999, -0.38599995, 0.011999997, -0.41299993, 1.499632, 1.3181754}},
	{Constraint{Kind: MaxNorm, Axes: 5, Max: 2}, []float32{0.35610244, 0.8469463, 0.34097838, -1.3439773, 1.1663294, 0.57543498, -0.69138086, 0.74892431, 0.40253702, 0.3245317, 0.031643681, 0.6034376, -0.75963938, -0.16773938, -0.497031, 0.61733586, 0.05153149, -0.37703875, -1.0074406, -0.33151925, 0.0088307941, -0.3039265, 1.428381, 1.1112082}},
	{Constraint{Kind: UnitNorm, Axes: 6}, []float32{0.15818287, 0.37621871, 0.15146467, -0.59700292, 0.41469562, 0.20459947, -0.24582472, 0.26628467, 0.16703866, 0.1346692, 0.01313101, 0.25040531, -0.34021372, -0.075124115, -0.22260137, 0.27648136, 0.018473143, -0.13516183, -0.36114994, -0.11884388, 0.0036946286, -0.12715679, 0.59760612, 0.46490741}},
	{Constraint{Kind: UnitNorm, Axes: 7}, []float32{0.11230965, 0.26711485, 0.10753974, -0.42387137, 0.29443341, 0.14526539, -0.17453527, 0.18906181, 0.11859725, 0.095614977, 0.0093230018, 0.17778748, -0.23957947, -0.052902617, -0.15675652, 0.19469897, 0.013008839, -0.095181346, -0.25432283, -0.083690204, 0.0026017679, -0.089544177, 0.42083597, 0.32738912}},
	{Constraint{Kind: MinMaxNorm, Axes: 4, Min: 1, Max: 1.5, Rate: 0.25}, []float32{0.46878377, 1.1149452, 0.448874, -1.7692515, 1.2831937, 0.63309264, -0.76065606, 0.82396531, 0.54699993, 0.44099995, 0.042999998, 0.81999987, -1.0852567, -0.23964038, -0.71008193, 0.88195521, 0.059999991, -0.43899995, -1.1729999, -0.38599995, 0.010804584, -0.37185776, 1.7476414, 1.3595768}},
	{Constraint{Kind: MinMaxNorm, Axes: 2, Min: 2.5, Max: 3, Rate: 1}, []float32{0.83388919, 2.0950902, 1.3100693, -2.1321037, 2.186142, 1.1393753, -2.1262214, 0.95099455, 0.88057405, 0.74994707, 0.11357456, 0.89428389, -2.4961758, -0.9380995, -0.75933725, 1.2480892, 0.13553895, -1.6878102, -1.2319537, -0.53648376, 0.027107792, -1.5878487, 2.0385528, 2.09868}},
	{Constraint{Kind: NonNeg}, []float32{0.51800001, 1.232, 0.49599999, 0, 1.358, 0.67000002, 0, 0.87199998, 0.54699999, 0.44100001, 0.043000001, 0.81999999, 0, 0, 0, 0.898, 0.059999999, 0, 0, 0, 0.012, 0, 1.941, 1.51}},
}

// TestConstraints: after an update from gradients a table has what Keras's constraint gives, also where the update
// names one row only; other changes leave it alone.
func TestConstraints(t *testing.T) {
	for _, c := range constraintCases {
		for _, sparse := range []bool{false, true} {
			table := newTable(Definition{Name: "w", Shape: "2,3,4", Rows: 2, Width: 12, Rule: Rule{Kind: SGD}, Constraint: c.of}, Limits{})
			require.NoError(t, table.Check())
			table.apply(&Update{Op: Assign, Values: constrained})
			got, err := table.Read(nil, nil)
			require.NoError(t, err)
			require.Equal(t, constrained, got)
			u := &Update{Op: Gradient, Values: make([]float32, 24)}
			if sparse {
				u = &Update{Op: Gradient, Sparse: true, IDs: []int64{1}, Values: make([]float32, 12)}
			}
			table.apply(u)
			got, err = table.Read(nil, nil)
			require.NoError(t, err)
			for i, want := range c.want {
				require.InEpsilon(t, want+1, got[i]+1, 1e-6, "%+v, element %d", c.of, i)
			}
		}
	}
}

// TestConstraintsOfShards: what depends on all rows cannot be had of some; other mistakes are told too.
func TestConstraintsOfShards(t *testing.T) {
	d := Definition{Name: "w/part_1", Shape: "4,3", First: 2, Rows: 2, Width: 3, Rule: Rule{Kind: SGD}}
	for text, c := range map[string]Constraint{
		"":                                       {Kind: MaxNorm, Axes: 2, Max: 1},
		"needs all rows on one server":           {Kind: UnitNorm, Axes: 3},
		"along the axes 0, as bits":              {Kind: UnitNorm},
		"along the axes 100, as bits":            {Kind: UnitNorm, Axes: 4},
		"the constraint is not known":            {Kind: constraintKinds},
		"numbers of a constraint must be finite": {Kind: MaxNorm, Axes: 2, Max: math.Inf(1)},
	} {
		d.Constraint = c
		if text == "" {
			require.NoError(t, d.Check())
		} else {
			require.ErrorContains(t, d.Check(), text)
		}
	}
	d.Constraint = Constraint{Kind: MaxNorm, Axes: 2, Max: 1}
	d.Shape = "4,5"
	require.ErrorContains(t, d.Check(), "rows of 3 numbers do not have the shape (4,5)")
	d.Shape = "4,x"
	require.ErrorContains(t, d.Check(), `"4,x" is not a shape`)
	require.ErrorContains(t, (&Definition{Name: "d", Width: 3, Dynamic: true, Constraint: Constraint{Kind: NonNeg}}).Check(), "a dynamic table has no constraint")
}

// TestConstraintsInSnapshots: a server that comes back continues with them.
func TestConstraintsInSnapshots(t *testing.T) {
	s := NewState(Limits{})
	for _, c := range []Command{&Take{Term: 1}, &Create{Term: 1, Definition: Definition{Name: "w", Shape: "1,2", Rows: 1, Width: 2, Rule: Rule{Kind: SGD}, Constraint: Constraint{Kind: MinMaxNorm, Axes: 3, Min: 1, Max: 2, Rate: 0.5}}}} {
		var w Writer
		EncodeCommand(&w, c)
		again, err := DecodeCommand(w.B)
		require.NoError(t, err)
		_, err = s.Execute(again)
		require.NoError(t, err)
	}
	var w Writer
	s.EncodeSnapshot(&w)
	again, err := DecodeSnapshot(w.B, Limits{})
	require.NoError(t, err)
	require.Equal(t, s.Tables()[0].Definition, again.Tables()[0].Definition)
	require.Equal(t, Constraint{Kind: MinMaxNorm, Axes: 3, Min: 1, Max: 2, Rate: 0.5}, again.Tables()[0].Constraint)
}
