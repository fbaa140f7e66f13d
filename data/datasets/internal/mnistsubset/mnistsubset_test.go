package mnistsubset_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data/datasets/internal/mnistsubset"
)

// The checksums are of the rows that NumPy selects, by the rule in the package comment, from the files of MNIST.
func TestSubsetIsPartOfMNIST(t *testing.T) {
	for _, c := range []struct {
		read           func() ([]byte, []byte, error)
		n              int
		pixels, labels string
	}{
		{
			mnistsubset.Train, 10000,
			"6c71c08d40f6fee52ef20eaef1edb5a9f850dfeb024fd892e01b614150078b8d", "46ebd549aa1179618816237ffabe1f6c3a16daa09b90185f66bb527d4ecd31b0",
		},
		{
			mnistsubset.Test, 2000,
			"3f79ca610d726c969becb1b592ae3aed527684cd9de00a3180c2312d772b5d6c", "aa166efde2c452d3d6b143794d8fe296e45e20ccd95b7a11cad120bf095946eb",
		},
	} {
		pixels, labels, err := c.read()
		require.NoError(t, err)
		assert.Len(t, pixels, c.n*mnistsubset.Pixels)
		assert.Len(t, labels, c.n)
		for want, content := range map[string][]byte{c.pixels: pixels, c.labels: labels} {
			sum := sha256.Sum256(content)
			assert.Equal(t, want, hex.EncodeToString(sum[:]))
		}
		var count [10]int
		for _, digit := range labels {
			count[digit]++
		}
		for digit, k := range count {
			assert.Equal(t, c.n/10, k, "digit %d", digit)
		}
	}
}

func TestPackUnpack(t *testing.T) {
	long := make([]byte, 3*2000*mnistsubset.Pixels/2) // more than one chunk
	for i := range long {
		if i%700 > 400 {
			long[i] = byte(i)
		}
	}
	for name, pixels := range map[string][]byte{
		"nothing": {}, "zeros": make([]byte, 1000), "no zeros": bytes.Repeat([]byte{1, 2, 3}, 200), "short runs": {0, 1, 0, 0, 2, 0, 0, 0, 3, 0}, "long": long,
	} {
		packed := mnistsubset.Pack(pixels)
		got := make([]byte, len(pixels))
		require.NoError(t, mnistsubset.Unpack(string(packed), got), name)
		assert.True(t, bytes.Equal(pixels, got), name)
	}
}

func TestUnpackRejects(t *testing.T) {
	good := string(mnistsubset.Pack([]byte{0, 0, 0, 7, 8}))
	for name, packed := range map[string]string{
		"empty": "", "cut length": good[:3], "cut": good[:len(good)-1], "too long": good + "\x00", "length beyond the end": "\xff" + good[1:],
		"too few pixels": string(mnistsubset.Pack([]byte{0, 0, 0, 7})), "too many pixels": string(mnistsubset.Pack([]byte{0, 0, 0, 7, 8, 9})),
		"half a piece": "\x01\x00\x00\x00\x05", "literals beyond the end": "\x03\x00\x00\x00\x03\x02\x07",
	} {
		require.Error(t, mnistsubset.Unpack(packed, make([]byte, 5)), name)
	}
}

func BenchmarkTrain(b *testing.B) {
	for b.Loop() {
		if _, _, err := mnistsubset.Train(); err != nil {
			b.Fatal(err)
		}
	}
}
