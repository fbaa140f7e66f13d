package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRecall: a table with the state of another one goes on as that does.
func TestRecall(t *testing.T) {
	d := Definition{Name: "w", Shape: "2,2", Rows: 2, Width: 2, Rule: Rule{Kind: Adam, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-7}}
	begin := func() *State {
		s := NewState(Limits{})
		for _, c := range []Command{&Take{Term: 1}, &Create{Term: 1, Definition: d}} {
			_, err := s.Execute(c)
			require.NoError(t, err)
		}
		return s
	}
	train := func(s *State, sequence uint64) []float32 {
		_, err := s.Execute(&Push{Closure: ClosureID{1, sequence}, Low: sequence, Updates: []Update{{Op: Gradient, Rate: 0.1, Values: []float32{1, -2, 3, float32(sequence)}}}})
		require.NoError(t, err)
		values, err := s.Tables()[0].Read(nil, nil)
		require.NoError(t, err)
		return values
	}
	one, two := begin(), begin()
	train(one, 1)
	values := train(one, 2)
	of := one.Tables()[0]
	var w Writer
	EncodeCommand(&w, &Recall{Term: 1, Step: of.Step, Slots: of.slots})
	c, err := DecodeCommand(w.B)
	require.NoError(t, err)
	_, err = two.Execute(c)
	require.NoError(t, err)
	_, err = two.Execute(&Push{Closure: ClosureID{1, 1}, Low: 1, Updates: []Update{{Op: Assign, Values: values}}})
	require.NoError(t, err)
	require.Equal(t, train(one, 3), train(two, 3))
	require.EqualValues(t, 3, two.Tables()[0].Step)
	for text, c := range map[string]*Recall{
		"coordinator has term 1":                          {Term: 2},
		"there is no table 4":                             {Term: 1, Table: 4},
		"1 slots of the optimizer, expected [momentum ve": {Term: 1, Slots: of.slots[:1]},
		"slot velocity has 1 numbers, expected 4":         {Term: 1, Slots: [][]float32{of.slots[0], {1}}},
	} {
		_, err := two.Execute(c)
		require.ErrorContains(t, err, text)
	}
}
