package data_test

import (
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

type kerasImages struct {
	Paths map[string][]string `json:"paths"`
}

// relative strips the folder of the fixtures from paths, which Keras saw as images/....
func relative(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = filepath.ToSlash(p[len("testdata/"):])
	}
	return out
}

func requireNear(t *testing.T, want, got []float32, tolerance float64, name string) {
	t.Helper()
	require.Len(t, got, len(want), name)
	for i := range want {
		if diff := float64(want[i]) - float64(got[i]); !(diff <= tolerance && diff >= -tolerance) {
			t.Fatalf("%s: value %d is %v, want %v", name, i, got[i], want[i])
		}
	}
}

// Expected values: image_dataset_from_directory of Keras 3.15.1 with TensorFlow (testdata/generate.py).
func TestImageFolderIsThatOfKeras(t *testing.T) {
	noLeak(t)
	var keras kerasImages
	readJSON(t, "testdata/images.json", &keras)
	want, err := data.LoadNPZ("testdata/images.npz")
	require.NoError(t, err)
	for _, mode := range []data.ColorMode{data.RGB, data.RGBA} {
		options := []data.ImageOption{data.Colors(mode), data.ImagesInOrder(), data.ImageBatchSize(100)}
		if mode == data.RGBA {
			options = append(options, data.ClassNames("cats", "dogs"))
		}
		ds, err := data.ImageFolder("testdata/images", 6, 4, options...)
		require.NoError(t, err)
		assert.Equal(t, keras.Paths[string(mode)], relative(ds.Paths))
		assert.Equal(t, keras.Paths[string(mode)+"_class_names"], ds.ClassNames)
		batch := batchesOf(t, ds, 0)[0]
		x := want.Get(string(mode) + "_x")
		assert.Equal(t, shapeOf(x), shapeOf(batch.X.Single()))
		assert.Equal(t, want.Get(string(mode)+"_y").Elements(), batch.Y.Single().Elements())
		values, expected := batch.X.Single().Elements().([]float32), x.Elements().([]float32)
		size := len(values) / len(ds.Paths)
		for i, path := range ds.Paths {
			tolerance := 1e-4
			if filepath.Ext(path) == ".jpg" {
				tolerance = 5 // TensorFlow decodes with libjpeg's fast and inexact DCT; see TestLoadImageJPEG
			}
			requireNear(t, expected[i*size:(i+1)*size], values[i*size:(i+1)*size], tolerance, path)
		}
	}
	for name, options := range map[string][]data.ImageOption{
		"categorical": {data.Labels(data.LabelCategorical)},
		"binary":      {data.Labels(data.LabelBinary), data.ClassNames("dogs", "cats")},
	} {
		ds, err := data.ImageFolder("testdata/images", 6, 4, append(options, data.ImagesInOrder())...)
		require.NoError(t, err)
		y := batchesOf(t, ds, 0)[0].Y.Single()
		assert.Equal(t, want.Get(name+"_y").Elements(), y.Elements(), name)
		assert.Equal(t, shapeOf(want.Get(name+"_y")), shapeOf(y), name)
	}
	ds, err := data.ImageFolder("testdata/images", 6, 4, data.Labels(data.LabelNone), data.ImagesInOrder())
	require.NoError(t, err)
	assert.Equal(t, keras.Paths["none"], relative(ds.Paths))
	assert.Nil(t, ds.Classes)
	assert.Zero(t, batchesOf(t, ds, 0)[0].Y.Len())
}

func TestValidationSplitIsThatOfKeras(t *testing.T) {
	var keras kerasImages
	readJSON(t, "testdata/images.json", &keras)
	for _, seed := range []uint32{0, 1337} {
		for _, subset := range []data.Subset{data.Training, data.Validation} {
			ds, err := data.ImageFolder("testdata/images", 6, 4, data.ValidationSplit(0.3, subset), data.ImageSeed(seed))
			require.NoError(t, err)
			assert.Equal(t, keras.Paths[fmt.Sprintf("%s_%d", subset, seed)], relative(ds.Paths))
			for i, path := range ds.Paths {
				assert.Contains(t, path, ds.ClassNames[ds.Classes[i]], "the class follows its file")
			}
		}
	}
}

func TestImageFolderShufflesEachPass(t *testing.T) {
	noLeak(t)
	ds, err := data.ImageFolder("testdata/images", 2, 2, data.ImageBatchSize(2), data.ImageWorkers(2), data.Labels(data.LabelCategorical))
	require.NoError(t, err)
	n, known := ds.Cardinality()
	assert.True(t, known)
	assert.Equal(t, 5, n)
	orders := map[string][]float32{}
	for epoch := range 3 {
		var sums []float32
		for _, b := range batchesOf(t, ds, epoch) {
			values := b.X.Single().Elements().([]float32)
			for i := range b.Size() {
				sums = append(sums, values[12*i]+1000*values[12*i+1])
			}
		}
		require.Len(t, sums, 9)
		orders[fmt.Sprint(sums)] = sums
	}
	require.Len(t, orders, 3, "each pass has its own order")
	var first []float32
	for _, sums := range orders {
		slices.Sort(sums)
		if first == nil {
			first = sums
		}
		assert.Equal(t, first, sums, "the same images in each pass")
	}
	for range ds.Batches(t.Context(), 0) {
		break
	}
}

func TestImageFolderRejects(t *testing.T) {
	empty := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(empty, "class"), 0o700))
	const dir = "testdata/images"
	for want, c := range map[string]struct {
		dir           string
		height, width int
		options       []data.ImageOption
	}{
		"size 0 x 4":                      {dir, 0, 4, nil},
		"size 4 x -1":                     {dir, 4, -1, nil},
		"batch size -1":                   {dir, 4, 4, []data.ImageOption{data.ImageBatchSize(-1)}},
		`color mode "bgr"`:                {dir, 4, 4, []data.ImageOption{data.Colors("bgr")}},
		`label mode "float"`:              {dir, 4, 4, []data.ImageOption{data.Labels("float")}},
		`label mode "binary" needs 2`:     {dir, 4, 4, []data.ImageOption{data.Labels(data.LabelBinary)}},
		"validation split 1;":             {dir, 4, 4, []data.ImageOption{data.ValidationSplit(1, data.Training)}},
		"validation split 0;":             {dir, 4, 4, []data.ImageOption{data.ValidationSplit(0, data.Training)}},
		`subset "test"`:                   {dir, 4, 4, []data.ImageOption{data.ValidationSplit(.5, "test")}},
		"leaves none for validation":      {dir, 4, 4, []data.ImageOption{data.ValidationSplit(.1, data.Validation)}},
		`class "birds" has no folder`:     {dir, 4, 4, []data.ImageOption{data.ClassNames("birds")}},
		`ClassNames were given for label`: {dir, 4, 4, []data.ImageOption{data.ClassNames("cats"), data.Labels(data.LabelNone)}},
		"no files .bmp":                   {empty, 4, 4, nil},
		"no such file or directory":       {filepath.Join(empty, "gone"), 4, 4, nil},
	} {
		_, err := data.ImageFolder(c.dir, c.height, c.width, c.options...)
		require.ErrorContains(t, err, "data: ImageFolder: ", want)
		assert.ErrorContains(t, err, want)
	}
}

func TestImageFolderNamesABrokenFile(t *testing.T) {
	noLeak(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "class", "broken.png")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("no image"), 0o600))
	ds, err := data.ImageFolder(dir, 4, 4)
	require.NoError(t, err)
	_, err = firstError(t, t.Context(), ds)
	require.ErrorContains(t, err, "data: ImageFolder: "+path+": image: unknown format")
}

func TestImageFolderFollowsLinksAsKerasDoes(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	save := func(path string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		saveImage(t, path, image.NewGray(image.Rect(0, 0, 1, 1)))
	}
	save(filepath.Join(elsewhere, "linked", "1.png"))
	save(filepath.Join(elsewhere, "inside", "2.png"))
	save(filepath.Join(dir, "a", "3.png"))
	save(filepath.Join(dir, ".hidden", "4.png"))
	save(filepath.Join(dir, "5.png"))
	if err := os.Symlink(filepath.Join(elsewhere, "linked"), filepath.Join(dir, "b")); err != nil {
		require.ErrorIs(t, err, errors.ErrUnsupported)
		t.Skip("the file system has no symbolic links")
	}
	require.NoError(t, os.Symlink(filepath.Join(elsewhere, "inside"), filepath.Join(dir, "a", "folder.png")))
	require.NoError(t, os.Symlink(filepath.Join(elsewhere, "inside", "2.png"), filepath.Join(dir, "a", "0.png")))
	ds, err := data.ImageFolder(dir, 1, 1, data.ImagesInOrder())
	require.NoError(t, err)
	var names []string
	for _, p := range ds.Paths {
		names = append(names, filepath.ToSlash(p[len(dir)+1:]))
	}
	assert.Equal(t, []string{"a/0.png", "a/3.png", "b/1.png"}, names)
	assert.Equal(t, []string{"a", "b"}, ds.ClassNames)
}

func ExampleImageFolder() {
	ds, err := data.ImageFolder("testdata/images", 32, 32, data.ImageBatchSize(4), data.ImagesInOrder())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ds.ClassNames)
	for batch, err := range ds.Batches(context.Background(), 0) {
		fmt.Println(batch, err)
	}
	// Output:
	// [Zebras cats dogs]
	// x float32[4 32 32 3], y int32[4] <nil>
	// x float32[4 32 32 3], y int32[4] <nil>
	// x float32[1 32 32 3], y int32[1] <nil>
}
