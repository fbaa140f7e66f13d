package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/data/datasets"
	"github.com/gokeras/gokeras/data/datasets/internal/mnistsubset"
)

// numbered makes n images of which image i shows the digit i mod 10 and has the number i in its first two pixels.
func numbered(n int) datasets.Split {
	pixels, labels := make([]byte, n*mnistsubset.Pixels), make([]byte, n)
	for i := range n {
		pixels[i*mnistsubset.Pixels], pixels[i*mnistsubset.Pixels+1] = byte(i), byte(i>>8)
		labels[i] = byte(i % 10)
	}
	return datasets.Split{
		Images: data.Must(data.ArrayOf(pixels, n, 28, 28)),
		Labels: data.Must(data.ArrayOf(labels, n)),
	}
}

func TestChooseSpreadsEvenly(t *testing.T) {
	// Of 7 images of each digit, numbers floor(k*7/3) = 0, 2, 4 are chosen.
	pixels, labels, err := choose(numbered(70), 3)
	require.NoError(t, err)
	require.Len(t, labels, 30)
	for i, digit := range labels {
		want := i%10 + 20*(i/10)
		assert.Equal(t, byte(want%10), digit)
		assert.Equal(t, byte(want), pixels[i*mnistsubset.Pixels])
	}
	_, _, err = choose(numbered(15), 2)
	require.ErrorContains(t, err, "15 images were chosen; expected 20")
	bad := numbered(10)
	bad.Labels.Elements().([]byte)[3] = 10
	_, _, err = choose(bad, 1)
	require.ErrorContains(t, err, "label 10")
}

func TestGenerateNeedsTheDatabase(t *testing.T) {
	require.ErrorContains(t, generate("", t.TempDir()), "-mnist is missing")
	require.ErrorIs(t, generate(filepath.Join(t.TempDir(), "gone"), t.TempDir()), os.ErrNotExist)
}
