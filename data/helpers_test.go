package data_test

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// noLeak fails the test if goroutines of package data outlive it.
func noLeak(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		var left []string
		for wait := time.Microsecond; wait < time.Second; wait *= 4 { // a goroutine that is done takes a moment to vanish
			if left = goroutines(); len(left) == 0 {
				return
			}
			time.Sleep(wait)
		}
		t.Errorf("%d goroutines left:\n%s", len(left), strings.Join(left, "\n\n"))
	})
}

// goroutines returns the stacks of goroutines inside package data, without those of tests.
func goroutines() (stacks []string) {
	buf := make([]byte, 1<<20)
	for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "gokeras/data.") && !strings.Contains(stack, "testing.tRunner") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// numbersOf collects the int64 scalars in X of a pass.
func numbersOf(t *testing.T, ds data.Dataset, epoch int) []int64 {
	t.Helper()
	numbers := []int64{}
	for element, err := range ds.Batches(t.Context(), epoch) {
		require.NoError(t, err)
		numbers = append(numbers, number(element))
	}
	return numbers
}

func number(element data.Batch) int64 { return element.X.Single().Elements().([]int64)[0] }

// upTo is 0, 1, ..., n-1.
func upTo(n int) []int64 {
	numbers := make([]int64, n)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	return numbers
}

// batchesOf collects copies of the batches of a pass.
func batchesOf(t *testing.T, ds data.Dataset, epoch int) (batches []data.Batch) {
	t.Helper()
	for batch, err := range ds.Batches(t.Context(), epoch) {
		require.NoError(t, err)
		batches = append(batches, batch.Clone())
	}
	return batches
}

// firstError runs a pass and returns the number of elements before its error, and that error. It fails if anything
// follows the error.
func firstError(t *testing.T, ctx context.Context, ds data.Dataset) (elements int, failure error) {
	t.Helper()
	for _, err := range ds.Batches(ctx, 0) {
		require.NoError(t, failure, "the pass went on after an error")
		if failure = err; err == nil {
			elements++
		}
	}
	return elements, failure
}

func dense(backing any, shape ...int) data.Array {
	a := data.Must(data.ToArray(backing))
	return data.Must(a.Reshape(shape...))
}

func shapeOf(d data.Array) []int { return append([]int{}, d.Shape()...) }

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into))
}

// utilities is testdata/utilities.json: what Keras 3.15.1 makes of the arguments (testdata/generate.py).
type utilities struct {
	Timeseries []struct {
		Arguments struct {
			Length    int `json:"sequence_length"`
			Stride    int `json:"sequence_stride"`
			Rate      int `json:"sampling_rate"`
			BatchSize int `json:"batch_size"`
			Start     int `json:"start_index"`
			End       int `json:"end_index"`
		} `json:"arguments"`
		Targets []int64 `json:"targets"`
		Batches []struct {
			X [][][]float64 `json:"x"`
			Y []int64       `json:"y"`
		} `json:"batches"`
	} `json:"timeseries"`
	Pad []struct {
		Arguments struct {
			MaxLen     int       `json:"maxlen"`
			Padding    data.Side `json:"padding"`
			Truncating data.Side `json:"truncating"`
			Value      float64   `json:"value"`
		} `json:"arguments"`
		Result [][]int32 `json:"result"`
	} `json:"pad_sequences"`
	OneHot []struct {
		Labels  any `json:"labels"`
		Classes int `json:"classes"`
		Result  any `json:"result"`
	} `json:"to_categorical"`
	Split []struct {
		LeftSize  *float64 `json:"left_size"`
		RightSize *float64 `json:"right_size"`
		Left      []int64  `json:"left"`
		Right     []int64  `json:"right"`
	} `json:"split_dataset"`
}

func kerasUtilities(t *testing.T) (u utilities) {
	t.Helper()
	readJSON(t, "testdata/utilities.json", &u)
	return u
}
