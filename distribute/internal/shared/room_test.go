package shared

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRoom: what lies in a room is found by its place; what does not, or not as a whole, is not.
func TestRoom(t *testing.T) {
	small := NewRoom(leastRoom - 1)
	require.Empty(t, small.Note())
	_, inside := small.Place(small.Floats)
	require.False(t, inside, "nobody else can open it")
	require.Len(t, small.Floats, leastRoom-1)
	small.Close()

	r := NewRoom(leastRoom)
	defer r.Close()
	require.Len(t, r.Floats, leastRoom)
	require.Zero(t, r.Floats[leastRoom-1])
	if r.Note() == "" {
		t.Skip("this system shares no memory")
	}
	at, inside := r.Place(r.Floats[10:20])
	require.True(t, inside)
	require.Equal(t, 40, at)
	_, inside = r.Place(r.Floats)
	require.True(t, inside)
	_, inside = r.Place(make([]float32, 5))
	require.False(t, inside)
	_, inside = r.Place(r.Floats[:0])
	require.False(t, inside)
	_, inside = (*Room)(nil).Place(r.Floats)
	require.False(t, inside)
	require.Empty(t, (*Room)(nil).Note())

	other, err := Open(r.Note())
	require.NoError(t, err)
	defer other.Close()
	r.Floats[1] = 1
	require.Equal(t, []byte{0, 0, 0x80, 0x3f}, other.Bytes[4:8])
	require.False(t, r.Spoiled())
	r.Spoil()
	require.True(t, r.Spoiled())
}
