package data_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// TestAudioDatasetIsThatOfKeras: the numbers of sounds of 16 bits are whole fractions of 2^15, so they are equal.
func TestAudioDatasetIsThatOfKeras(t *testing.T) {
	noLeak(t)
	var keras struct {
		Cases map[string]struct {
			ClassNames []string `json:"class_names"`
			X          []json.RawMessage
			Y          []json.RawMessage
		}
	}
	readJSON(t, "testdata/sounds.json", &keras)
	cases := map[string][]data.AudioOption{
		"int":               nil,
		"categorical":       {data.Labels(data.LabelCategorical)},
		"none":              {data.Labels(data.LabelNone)},
		"binary":            {data.Labels(data.LabelBinary), data.ClassNames("yes", "no")},
		"length":            {data.OutputSequenceLength(4)},
		"given":             {data.FileLabels(3, 1, 3, 0, 2, 1, 3)},
		"given_categorical": {data.FileLabels(2, 1, 2, 0, 0, 1, 2), data.Labels(data.LabelCategorical)},
		"stereo":            nil,
		"unbatched":         {data.ImageBatchSize(0)},
		"training":          {data.ValidationSplit(0.4, data.Training), data.ImageSeed(11)},
		"validation":        {data.ValidationSplit(0.4, data.Validation), data.ImageSeed(11)},
	}
	require.Len(t, cases, len(keras.Cases))
	for name, options := range cases {
		t.Run(name, func(t *testing.T) {
			want := keras.Cases[name]
			shuffled := name == "training" || name == "validation"
			options = append([]data.AudioOption{data.ImageBatchSize(3)}, options...)
			if shuffled { // the order of a pass is not that of Keras, the choice of the files is
				options = append(options, data.ImageBatchSize(0))
			} else {
				options = append(options, data.ImagesInOrder())
			}
			dir := "testdata/sounds"
			if name == "stereo" {
				dir = "testdata/stereo"
			}
			ds, err := data.AudioDatasetFromDirectory(dir, options...)
			require.NoError(t, err)
			if name != "unbatched" {
				assert.Equal(t, want.ClassNames, append([]string{}, ds.ClassNames...))
			}
			batches := batchesOf(t, ds, 0)
			if shuffled {
				n := 0
				for _, x := range want.X {
					var rows []any
					require.NoError(t, json.Unmarshal(x, &rows))
					n += len(rows)
				}
				require.Len(t, batches, n)
				for _, b := range batches {
					assert.True(t, slices.ContainsFunc(want.X, func(x json.RawMessage) bool { return holds(t, x, b) }))
				}
				return
			}
			require.Len(t, batches, len(want.X))
			for i, b := range batches {
				assert.JSONEq(t, string(want.X[i]), nested(b.X.Single().Elements(), b.X.Single().Shape()))
				y := "null"
				if b.Y.Len() > 0 {
					y = nested(b.Y.Single().Elements(), b.Y.Single().Shape())
				}
				assert.JSONEq(t, string(want.Y[i]), y)
			}
		})
	}
}

// holds says whether a batch of Keras's has the sound of b, padded with silence or not.
func holds(t *testing.T, batch json.RawMessage, b data.Batch) bool {
	var rows [][][]float32
	require.NoError(t, json.Unmarshal(batch, &rows))
	sound := b.X.Single().Elements().([]float32)
	return slices.ContainsFunc(rows, func(row [][]float32) bool {
		for i, frame := range row {
			if i < len(sound) && frame[0] != sound[i] || i >= len(sound) && frame[0] != 0 {
				return false
			}
		}
		return len(row) >= len(sound)
	})
}

func TestAudioDatasetRejects(t *testing.T) {
	for want, options := range map[string][]data.AudioOption{
		"AudioSamplingRate -1":                   {data.AudioSamplingRate(-1)},
		"OutputSequenceLength -2":                {data.OutputSequenceLength(-2)},
		"2 labels in FileLabels for 7 files":     {data.FileLabels(1, 2)},
		"ClassNames and FileLabels":              {data.FileLabels(1), data.ClassNames("yes")},
		"FileLabels were given for label mode":   {data.FileLabels(1), data.Labels(data.LabelNone)},
		"label -1 of file":                       {data.FileLabels(0, 0, 0, 0, 0, 0, -1)},
		"label 9 of file":                        {data.FileLabels(0, 0, 0, 0, 0, 0, 9), data.Labels(data.LabelCategorical)},
		"label mode \"binary\" needs 2 classes;": {data.Labels(data.LabelBinary)},
	} {
		_, err := data.AudioDatasetFromDirectory("testdata/sounds", options...)
		assert.ErrorContains(t, err, want)
	}
	_, err := data.AudioDatasetFromDirectory(t.TempDir())
	assert.ErrorContains(t, err, "no files .wav below")
}

// TestAudioDatasetOfMixedFiles: what Keras makes one shape of with silent channels, and files of no use.
func TestAudioDatasetOfMixedFiles(t *testing.T) {
	dir := t.TempDir()
	writeSound(t, dir, "a/mono.wav", wav(1, 1, 8000, 16, 0, 64))
	writeSound(t, dir, "a/stereo.wav", wav(1, 2, 8000, 16, 0, 64, 0, 64))
	ds, err := data.AudioDatasetFromDirectory(dir, data.ImagesInOrder())
	require.NoError(t, err)
	assert.ErrorContains(t, errorOf(ds), "mono.wav has 1 channels and "+filepath.Join(dir, "a/stereo.wav")+" has 2; expected the same number in a batch")

	dir = t.TempDir()
	writeSound(t, dir, "a/empty.wav", wav(1, 1, 8000, 16))
	ds, err = data.AudioDatasetFromDirectory(dir)
	require.NoError(t, err)
	assert.ErrorContains(t, errorOf(ds), "empty.wav: there are no samples in it")

	writeSound(t, dir, "a/broken.wav", []byte("RIFF"))
	ds, err = data.AudioDatasetFromDirectory(dir)
	require.NoError(t, err)
	assert.ErrorContains(t, errorOf(ds), "broken.wav: no WAV file")
}

func errorOf(ds data.Dataset) error {
	for _, err := range ds.Batches(context.Background(), 0) {
		if err != nil {
			return err
		}
	}
	return nil
}

func writeSound(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, content, 0o644))
}

// TestFollowLinks: files behind a link to a folder count with the option alone; a folder that holds itself ends.
func TestFollowLinks(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	writeSound(t, dir, "a/1.wav", wav(1, 1, 8000, 16, 0, 64))
	writeSound(t, elsewhere, "2.wav", wav(1, 1, 8000, 16, 0, 32))
	if err := os.Symlink(elsewhere, filepath.Join(dir, "a", "more")); err != nil {
		t.Skipf("the file system has no symbolic links: %v", err)
	}
	ds, err := data.AudioDatasetFromDirectory(dir)
	require.NoError(t, err)
	assert.Len(t, ds.Paths, 1)
	ds, err = data.AudioDatasetFromDirectory(dir, data.FollowLinks(), data.ImagesInOrder())
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "a/1.wav"), filepath.Join(dir, "a/more/2.wav")}, ds.Paths)
	require.NoError(t, os.Symlink(dir, filepath.Join(elsewhere, "round")))
	_, err = data.AudioDatasetFromDirectory(dir, data.FollowLinks())
	assert.ErrorContains(t, err, "is a link to a folder that it lies in")
}

func ExampleAudioDatasetFromDirectory() {
	ds, err := data.AudioDatasetFromDirectory("testdata/sounds", data.Labels(data.LabelBinary), data.ClassNames("no", "yes"),
		data.AudioSamplingRate(16000), data.OutputSequenceLength(12), data.ValidationSplit(0.2, data.Training))
	if err != nil {
		panic(err)
	}
	for b, err := range ds.Batches(context.Background(), 0) {
		fmt.Println(ds.ClassNames, b.X.Single().Shape(), b.Y.Single().Shape(), err)
	}
	// Output: [no yes] [4 12 1] [4 1] <nil>
}
