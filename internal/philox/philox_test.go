package philox_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/philox"
)

// The three lines "philox4x32 10" of tests/kat_vectors in Random123 1.14.0.
func TestBlockKnownAnswers(t *testing.T) {
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			counter: [4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
			key:     [2]uint32{0xffffffff, 0xffffffff},
			want:    [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{ // the digits of pi
			counter: [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			key:     [2]uint32{0xa4093822, 0x299f31d0},
			want:    [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		assert.Equal(t, c.want, philox.Block(c.counter, c.key), "counter %x key %x", c.counter, c.key)
	}
}

// The words of a generator are the blocks of its counter, so that other devices can compute the same ones.
func TestGeneratorReadsConsecutiveBlocks(t *testing.T) {
	const key, stream = 0x299f31d0a4093822, 0x0370734413198a2e
	g := philox.New(key, stream)
	for block := range uint32(3) {
		want := philox.Block([4]uint32{block, 0, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0})
		for i, w := range want {
			require.Equal(t, w, g.Uint32(), "block %d word %d", block, i)
		}
	}
}

func TestUint64TakesLowWordFirst(t *testing.T) {
	assert.Equal(t, uint64(0xe169c58d_6627e8d5), philox.New(0, 0).Uint64())
	assert.Equal(t, uint64(0xe169c58d_6627e8d5), philox.New(0, 0).Uint64n(0))
}

func TestStreamsAndKeysDiffer(t *testing.T) {
	seen := map[uint64]string{}
	for key := range uint64(4) {
		for stream := range uint64(4) {
			for _, shift := range []uint{0, 32} { // both halves of each must matter
				if shift == 32 && key == 0 && stream == 0 {
					continue
				}
				v := philox.New(key<<shift, stream<<shift).Uint64()
				name := fmt.Sprintf("key %d stream %d << %d", key, stream, shift)
				assert.Empty(t, seen[v], "%s repeats", name)
				seen[v] = name
			}
		}
	}
}

// Pearson's chi-squared test. For 255 degrees of freedom the 0.1 % points are 190 and 331; the sequence is fixed, so
// the test does not flicker.
func TestUint64nIsUniform(t *testing.T) {
	const draws = 1 << 18
	for _, n := range []uint64{256, 255, 3 << 30, 3 << 60} {
		g := philox.New(7, n)
		var counts [256]float64
		bins := min(n, 256)
		for range draws {
			v := g.Uint64n(n)
			if v >= n {
				t.Fatalf("%d is not below %d", v, n)
			}
			counts[int(float64(v)/float64(n)*float64(bins))]++
		}
		want, chi := float64(draws)/float64(bins), 0.0
		for _, c := range counts[:bins] {
			chi += (c - want) * (c - want) / want
		}
		assert.True(t, chi > 190 && chi < 331, "n = %d: chi-squared %.1f over %d bins", n, chi, bins)
	}
	assert.Zero(t, philox.New(1, 1).Uint64n(1))
}

// Multiplying without rejection would hit every third number twice as often when the bound is 3/4 of the range.
func TestUint64nRejectsTheExcess(t *testing.T) {
	const draws = 30000
	for _, n := range []uint64{3 << 30, 3 << 62} {
		g := philox.New(5, 0)
		var counts [3]float64
		for range draws {
			counts[g.Uint64n(n)%3]++
		}
		for r, c := range counts { // four standard deviations of a binomial count
			assert.InDelta(t, draws/3, c, 4*math.Sqrt(draws*2/9.0), "n = %d: remainder %d", n, r)
		}
	}
}

// Every one of the 24 orders of four items must come up equally often.
func TestShuffleReachesEveryPermutation(t *testing.T) {
	const draws = 24000
	g, counts := philox.New(3, 0), map[[4]int]int{}
	for range draws {
		p := [4]int{0, 1, 2, 3}
		g.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
		counts[p]++
	}
	require.Len(t, counts, 24)
	chi := 0.0
	for _, c := range counts {
		chi += (float64(c) - 1000) * (float64(c) - 1000) / 1000
	}
	assert.True(t, chi > 5 && chi < 50, "chi-squared %.1f with 23 degrees of freedom", chi)
}

func TestFloatsFillTheUnitInterval(t *testing.T) {
	const draws = 1 << 16
	g := philox.New(11, 0)
	var sum, squares, sum32, largest float64
	for range draws {
		v, w := g.Float64(), g.Float32()
		if !(v >= 0 && v < 1 && w >= 0 && w < 1) {
			t.Fatalf("%v or %v is outside [0, 1)", v, w)
		}
		sum, squares, sum32 = sum+v, squares+v*v, sum32+float64(w)
		largest = math.Max(largest, v)
	}
	// Four standard errors of the mean (0.289/sqrt(n)) and of the second moment (0.298/sqrt(n)).
	assert.InDelta(t, 0.5, sum/draws, 4*0.289/256)
	assert.InDelta(t, 0.5, sum32/draws, 4*0.289/256)
	assert.InDelta(t, 1.0/3, squares/draws, 4*0.298/256)
	assert.Greater(t, largest, 0.999)
}

func TestGeneratorDoesNotAllocate(t *testing.T) {
	g, sink := philox.New(1, 2), uint64(0)
	assert.Zero(t, testing.AllocsPerRun(100, func() { sink += g.Uint64n(1000) + g.Uint64() }))
	assert.NotZero(t, sink)
}

func ExampleNew() {
	g := philox.New(42, 0) // key 42: the user's seed; stream 0: for example, the epoch
	order := []string{"a", "b", "c", "d"}
	g.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	again := philox.New(42, 0)
	fmt.Println(len(order), again.Uint32() == philox.Block([4]uint32{}, [2]uint32{42})[0])
	// Output: 4 true
}

func BenchmarkUint64n(b *testing.B) {
	g := philox.New(1, 2)
	var sink uint64
	for b.Loop() {
		sink += g.Uint64n(60000)
	}
	_ = sink
}
