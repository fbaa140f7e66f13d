package datasets_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data/datasets"
)

func TestEmbeddedSubset(t *testing.T) {
	mnist, err := datasets.MNIST(datasets.Embedded())
	require.NoError(t, err)
	assert.Equal(t, "MNIST: 10000 training and 2000 test images of 28 x 28 pixels, from the embedded subset", mnist.String())
	assert.Equal(t, datasets.FromProgram, mnist.Source)
	assert.Equal(t, 10000, mnist.Train.Len())
	assert.Equal(t, 2000, mnist.Test.Len())
	require.NoError(t, mnist.Train.Arrays().Err())
	assert.Equal(t, "x uint8[2000 28 28], y uint8[2000]", mnist.Test.Arrays().All().String())

	// The first images of the original files are a 5 and a 7; sums and means by NumPy.
	train, test := mnist.Train.Images.Elements().([]uint8), mnist.Test.Images.Elements().([]uint8)
	assert.Equal(t, []uint8{5, 0, 4, 1, 9, 2, 3, 6, 7, 8, 1, 9}, mnist.Train.Labels.Elements().([]uint8)[:12])
	assert.Equal(t, []uint8{7, 2, 1, 0, 4, 9, 5, 6, 3, 4, 0, 1}, mnist.Test.Labels.Elements().([]uint8)[:12])
	assert.Equal(t, 27525, sum(train[:784]))
	assert.Equal(t, 20647, sum(test[len(test)-784:]))
	assert.True(t, math.Abs(float64(sum(train))/float64(len(train))-33.61264948979592) < 1e-9)

	other, err := datasets.MNIST(datasets.Embedded())
	require.NoError(t, err)
	train[0] = 99
	assert.Zero(t, other.Train.Images.Elements().([]uint8)[0], "each call has its own memory")
	assert.Zero(t, datasets.Split{}.Len())
}

func sum(pixels []uint8) (s int) {
	for _, p := range pixels {
		s += int(p)
	}
	return s
}

// The full database is not part of the repository. If a copy is available, it must be what the checksums and the subset
// say. make nightly downloads one.
func TestFullDatabase(t *testing.T) {
	mnist, err := datasets.MNIST()
	switch dir := os.Getenv("GOKERAS_MNIST"); {
	case dir == "download":
		if mnist, err = datasets.MNIST(datasets.Download(t.Context())); err != nil {
			t.Skip("all 70,000 images were to be downloaded, but: ", err)
		}
	case dir != "":
		mnist, err = datasets.MNIST(datasets.Directory(dir))
	case err == nil && mnist.Source == datasets.FromProgram:
		t.Skip("only the built-in subset is here; set GOKERAS_MNIST to a folder of the four IDX files of MNIST, or to \"download\", to test with all 70,000 images")
	}
	require.NoError(t, err)
	assert.Equal(t, 60000, mnist.Train.Len())
	assert.Equal(t, 10000, mnist.Test.Len())
	assert.NotEqual(t, datasets.FromProgram, mnist.Source)
	subset, err := datasets.MNIST(datasets.Embedded())
	require.NoError(t, err)
	for _, part := range []struct{ all, some datasets.Split }{{mnist.Train, subset.Train}, {mnist.Test, subset.Test}} {
		images, labels := map[string]uint8{}, part.all.Labels.Elements().([]uint8)
		pixels := part.all.Images.Elements().([]uint8)
		for i, digit := range labels {
			images[string(pixels[i*784:(i+1)*784])] = digit
		}
		pixels = part.some.Images.Elements().([]uint8)
		for i, digit := range part.some.Labels.Elements().([]uint8) {
			got, ok := images[string(pixels[i*784:(i+1)*784])]
			require.True(t, ok && got == digit, "image %d of the subset is not in the database", i)
		}
	}
}

func TestCacheIsUsedOnlyWhenComplete(t *testing.T) {
	cache := t.TempDir()
	mnist, err := datasets.MNIST(datasets.CacheDirectory(filepath.Join(cache, "not", "there")))
	require.NoError(t, err)
	assert.Equal(t, datasets.FromProgram, mnist.Source)
	writeSmall(t, cache, true)
	mnist, err = datasets.MNIST(datasets.CacheDirectory(cache))
	require.NoError(t, err)
	assert.Equal(t, datasets.FromCache, mnist.Source)
	assert.Equal(t, cache, mnist.Path)
	mnist, err = datasets.MNIST(datasets.CacheDirectory(cache), datasets.Embedded())
	require.NoError(t, err)
	assert.Equal(t, datasets.FromProgram, mnist.Source)

	require.NoError(t, os.Remove(filepath.Join(cache, "t10k-labels-idx1-ubyte.gz")))
	mnist, err = datasets.MNIST(datasets.CacheDirectory(cache))
	require.NoError(t, err)
	assert.Equal(t, datasets.FromProgram, mnist.Source)
}

func TestDefaultCache(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} { // whichever the system uses
		t.Setenv(name, home)
	}
	user, err := os.UserCacheDir()
	require.NoError(t, err)
	dir := filepath.Join(user, "gokeras", "mnist")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	mnist, err := datasets.MNIST()
	require.NoError(t, err)
	assert.Equal(t, datasets.FromProgram, mnist.Source)
	writeSmall(t, dir, false)
	mnist, err = datasets.MNIST()
	require.NoError(t, err)
	assert.Equal(t, datasets.FromCache, mnist.Source)
	assert.Equal(t, dir, mnist.Path)

	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, "")
	}
	mnist, err = datasets.MNIST()
	require.NoError(t, err, "a user without a home folder")
	assert.Equal(t, datasets.FromProgram, mnist.Source)
	_, err = datasets.MNIST(datasets.Download(t.Context()))
	require.ErrorContains(t, err, "no cache folder to download to")
}

func TestDirectory(t *testing.T) {
	for _, c := range []struct{ packed, dotted bool }{{false, false}, {true, false}, {true, true}} {
		dir := t.TempDir()
		writeSmall(t, dir, c.packed)
		if c.dotted {
			require.NoError(t, os.Rename(filepath.Join(dir, "train-images-idx3-ubyte.gz"), filepath.Join(dir, "train-images.idx3-ubyte.gz")))
		}
		mnist, err := datasets.MNIST(datasets.Directory(dir))
		require.NoError(t, err)
		assert.Equal(t, "MNIST: 3 training and 2 test images of 2 x 1 pixels, from the directory "+dir, mnist.String())
		assert.Equal(t, []uint8{1, 2, 3, 4, 5, 6}, mnist.Train.Images.Elements())
		assert.Equal(t, []uint8{7, 8, 9}, mnist.Train.Labels.Elements())
		assert.Equal(t, []uint8{10, 11, 12, 13}, mnist.Test.Images.Elements())
		assert.Equal(t, []uint8{14, 15}, mnist.Test.Labels.Elements())
	}
}

func TestDirectoryNeverFallsBack(t *testing.T) {
	dir := t.TempDir()
	_, err := datasets.MNIST(datasets.Directory(dir))
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, name := range []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"} {
		assert.ErrorContains(t, err, "holds neither "+name+" nor "+name+".gz")
	}
	for name, file := range map[string]string{
		"2 images but 3 labels":      "\x00\x00\x08\x03\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x01ab",
		"images are uint8 with sha":  "\x00\x00\x08\x01\x00\x00\x00\x02ab",
		"not an IDX file":            "PNG no",
		"the header promises 5 byte": "\x00\x00\x08\x01\x00\x00\x00\x05ab",
	} {
		writeSmall(t, dir, false)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "train-images-idx3-ubyte"), []byte(file), 0o600))
		_, err := datasets.MNIST(datasets.Directory(dir))
		require.ErrorContains(t, err, "datasets: MNIST: ")
		assert.ErrorContains(t, err, name)
		_, err = datasets.MNIST(datasets.CacheDirectory(dir))
		assert.ErrorContains(t, err, name, "a broken cache is no reason to use other data silently")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "t10k-labels-idx1-ubyte"), []byte("\x00\x00\x0d\x01\x00\x00\x00\x01\x00\x00\x00\x00"), 0o600))
	writeFile(t, dir, "train-images-idx3-ubyte", trainImages, false)
	_, err = datasets.MNIST(datasets.Directory(dir))
	require.ErrorContains(t, err, "the t10k files: labels are float32 with shape [1]")
}

func TestOneSource(t *testing.T) {
	for _, options := range [][]datasets.Option{
		{datasets.Directory("x"), datasets.Embedded()},
		{datasets.Directory("x"), datasets.Download(t.Context())},
		{datasets.Embedded(), datasets.Download(t.Context())},
	} {
		_, err := datasets.MNIST(options...)
		require.ErrorContains(t, err, "expected one source")
	}
}

func ExampleMNIST() {
	mnist, err := datasets.MNIST(datasets.Embedded())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mnist)
	fmt.Println(mnist.Train.Images.Shape(), mnist.Train.Labels.Elements().([]uint8)[:5])
	// Output:
	// MNIST: 10000 training and 2000 test images of 28 x 28 pixels, from the embedded subset
	// [10000 28 28] [5 0 4 1 9]
}

func BenchmarkMNIST(b *testing.B) {
	for b.Loop() {
		if _, err := datasets.MNIST(datasets.Embedded()); err != nil {
			b.Fatal(err)
		}
	}
}
