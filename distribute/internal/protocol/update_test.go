package protocol

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlace: a command says where its numbers are, and is whole for who finds them.
func TestPlace(t *testing.T) {
	place := Place{Note: "there", Offset: 8, Count: 2}
	command := func() *Push {
		return &Push{Closure: ClosureID{1, 2}, Updates: []Update{
			{Table: 1, Op: Gradient, Rate: 0.5, Seen: 3, Values: []float32{7, 8}, Away: &place},
			{Table: 2, Op: Add, Sparse: true, IDs: []int64{4}, Values: []float32{9}},
		}}
	}
	var w Writer
	EncodeCommand(&w, command())
	require.LessOrEqual(t, len(w.B), SizeOf(command()))
	_, err := DecodeCommand(w.B)
	require.ErrorContains(t, err, "numbers lie elsewhere")
	_, err = DecodeCommandIn(w.B, func(Place) ([]float32, error) { return nil, ErrPlace })
	require.ErrorIs(t, err, ErrPlace)
	_, err = DecodeCommandIn(w.B, func(Place) ([]float32, error) { return nil, errors.New("broken") })
	require.EqualError(t, err, "broken")
	got, err := DecodeCommandIn(w.B, func(p Place) ([]float32, error) {
		require.Equal(t, place, p)
		return []float32{7, 8}, nil
	})
	require.NoError(t, err)
	want := command()
	want.Updates[0].Away = nil
	require.Equal(t, want, got)
	var whole, again Writer
	EncodeCommand(&whole, got)
	EncodeCommand(&again, want)
	require.Equal(t, again.B, whole.B)
}
