package applications_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras/applications"
)

// classIndex writes names for all classes, as testdata/applications.py has them.
func classIndex(t testing.TB) string {
	t.Helper()
	names := map[string][2]string{}
	for i := range 1000 {
		names[fmt.Sprint(i)] = [2]string{fmt.Sprintf("n%08d", i), fmt.Sprintf("label_%d", i)}
	}
	raw, err := json.Marshal(names)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "imagenet_class_index.json")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	return path
}

// TestDecodePredictions compares with real Keras.
func TestDecodePredictions(t *testing.T) {
	scores := data.Must(data.ArrayOf(converted[float32](uniform("scores", 2000)), 2, 1000))
	got, err := applications.DecodePredictions(scores, applications.DecodeOptions{Top: 4, ClassIndex: classIndex(t)})
	require.NoError(t, err)
	var ours [][][3]any
	for _, row := range got {
		var list [][3]any
		for _, p := range row {
			list = append(list, [3]any{p.ID, p.Label, p.Score})
		}
		ours = append(ours, list)
	}
	assert.Equal(t, readPreprocessing(t).Decoded, ours)
}

func TestDecodePredictionsTies(t *testing.T) {
	row := make([]float64, 1000)
	row[7], row[3], row[500] = 0.25, 0.25, 0.5
	path := classIndex(t)
	x := data.Must(data.ArrayOf(row, 1, 1000))
	got, err := applications.DecodePredictions(x, applications.DecodeOptions{ClassIndex: path})
	require.NoError(t, err)
	var labels []string
	for _, p := range got[0] {
		labels = append(labels, p.Label)
	}
	assert.Equal(t, []string{"label_500", "label_3", "label_7", "label_0", "label_1"}, labels)
	got, err = applications.DecodePredictions(x, applications.DecodeOptions{ClassIndex: path, Top: 5000})
	require.NoError(t, err)
	assert.Len(t, got[0], 1000)
	row[9] = math.NaN()
	_, err = applications.DecodePredictions(x, applications.DecodeOptions{ClassIndex: path})
	require.ErrorContains(t, err, "the score of class 9 of image 0 is not a number")
}

func TestDecodePredictionsErrors(t *testing.T) {
	scores := data.Must(data.Zeros[float32](1, 1000))
	path := classIndex(t)
	bad := filepath.Join(t.TempDir(), "bad.json")
	require.NoError(t, os.WriteFile(bad, []byte(`{"0": ["a", "b"]}`), 0o600))
	for _, c := range []struct {
		x    data.Array
		o    applications.DecodeOptions
		want string
	}{
		{data.Array{}, applications.DecodeOptions{}, "the predictions are nil"},
		{data.Must(data.Zeros[float32](1, 10)), applications.DecodeOptions{ClassIndex: path}, "expected predictions of shape (batch, 1000), received (1, 10)"},
		{data.Must(data.Zeros[int64](1, 1000)), applications.DecodeOptions{ClassIndex: path}, "expected predictions of float32 or float64, received int"},
		{scores, applications.DecodeOptions{ClassIndex: path, Top: -1}, "Top must be positive, received -1"},
		{scores, applications.DecodeOptions{ClassIndex: bad}, "class 1 has []"},
		{scores, applications.DecodeOptions{Files: applications.Files{CacheDir: t.TempDir()}}, "imagenet_class_index.json; set Files.Download to fetch it, or place there what is at https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json"},
	} {
		_, err := applications.DecodePredictions(c.x, c.o)
		require.ErrorContains(t, err, c.want)
	}
}

// FuzzClassIndex: no file makes reading it fail other than with an error.
func FuzzClassIndex(f *testing.F) {
	f.Add([]byte(`{"0": ["n01440764", "tench"]}`))
	f.Add([]byte(`[]`))
	f.Add([]byte(`{"0": [1, {"a": []}]}`))
	dir := f.TempDir()
	scores := data.Must(data.Zeros[float32](1, 1000))
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(dir, "index.json")
		require.NoError(t, os.WriteFile(path, raw, 0o600))
		if got, err := applications.DecodePredictions(scores, applications.DecodeOptions{ClassIndex: path}); err == nil {
			require.Len(t, got, 1)
			require.Len(t, got[0], 5)
		}
	})
}
