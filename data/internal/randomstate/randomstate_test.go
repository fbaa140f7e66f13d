package randomstate_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/data/internal/randomstate"
)

// The first words for seed 5489 are those of the reference program of Matsumoto and Nishimura.
func TestWords(t *testing.T) {
	r := randomstate.New(5489)
	for _, want := range []uint32{3499211612, 581869302, 3890346734} {
		assert.Equal(t, want, r.Uint32())
	}
}

func shuffled(seed uint32, n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	randomstate.New(seed).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// Expected: NumPy 2.4.6, l = list(range(n)); numpy.random.RandomState(seed).shuffle(l).
func TestShuffleIsThatOfNumPy(t *testing.T) {
	for seed, want := range map[uint32][]int{
		0:          {6, 11, 4, 10, 2, 8, 1, 7, 9, 3, 0, 5},
		1337:       {5, 3, 1, 0, 4, 6, 10, 2, 9, 11, 8, 7},
		123:        {5, 0, 4, 9, 8, 7, 10, 3, 1, 6, 11, 2},
		4294967295: {11, 8, 5, 9, 1, 10, 6, 0, 4, 7, 2, 3},
	} {
		assert.Equal(t, want, shuffled(seed, 12), "seed %d", seed)
	}
	long := shuffled(7, 2000) // more than one twist of the state
	assert.Equal(t, []int{1072, 1048, 204, 694, 1758, 284, 1866, 1926}, long[:8])
	assert.Equal(t, []int{1639, 919, 211, 1603, 502, 537, 1220, 175}, long[1992:])
}
