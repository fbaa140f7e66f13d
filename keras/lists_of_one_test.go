package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
)

// A file of an earlier version, in which the only member of a list (of a StackedRNNCells, a Pipeline, or a Pipeline in
// a Pipeline) is not in a list, gives the predictions of that version, even after it is written again.
func TestListsOfOneOfEarlierVersions(t *testing.T) {
	x := data.Must(data.ArrayOf([]float32{0.5, -1, 2, 1, 0.25, -0.75}, 1, 2, 3))
	path := "testdata/lists_of_one.keras"
	for range 2 {
		m, err := keras.LoadModel(path)
		require.NoError(t, err)
		y, err := m.PredictAll(t.Context(), data.Arrays(x, nil))
		require.NoError(t, err)
		require.InDeltaSlice(t, []float64{-0.4673144519329071, 0.1291864514350891, -0.3012736141681671, 0.12997332215309143}, y[0].Float64s(), 1e-6)
		path = t.TempDir() + "/again.keras"
		require.NoError(t, m.Save(path))
	}
}

// So does a file whose members have vocabularies, which are separate files beside the weights.
func TestVocabulariesInListsOfOneOfEarlierVersions(t *testing.T) {
	x := data.Must(data.ArrayOf([]int64{10, 20, 20, 30, 7, 10}, 2, 3))
	path := "testdata/lookups_of_one.keras"
	for range 2 {
		m, err := keras.LoadModel(path)
		require.NoError(t, err)
		y, err := m.PredictAll(t.Context(), data.Arrays(x, nil))
		require.NoError(t, err)
		// The places 1, 2 and 3 weigh 0.5, 2 and 3, the place of unknown numbers their mean.
		require.InDeltaSlice(t, []float64{0, 0, 2, 6, 5.5 / 3, 0.5, 2, 0}, y[0].Float64s(), 1e-6)
		path = t.TempDir() + "/again.keras"
		require.NoError(t, m.Save(path))
	}
}
