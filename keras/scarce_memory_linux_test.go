package keras_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
)

const scarceMemory = "GOKERAS_TEST_SCARCE_MEMORY"

// TestScarceMemory: a configuration of a few bytes that needs more memory than the process can have is an error that
// names the layer, and does not end the process. It runs in a separate process, whose address space is limited.
func TestScarceMemory(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector reserves addresses of its own, which a limit would take from it")
	}
	if os.Getenv(scarceMemory) != "" {
		limitAddressSpace(t, 1<<30)
		useScarceMemory(t)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestScarceMemory$", "-test.v")
	child.Env = append(os.Environ(), scarceMemory+"=1")
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestScarceMemory")
}

// addressSpace returns the size of the process's address space in bytes.
func addressSpace(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var pages uint64
	_, err = fmt.Sscan(string(text), &pages)
	require.NoError(t, err)
	return pages * uint64(os.Getpagesize())
}

// limitAddressSpace limits the address space to the given number of bytes more than now.
func limitAddressSpace(t *testing.T, more uint64) {
	t.Helper()
	var r syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_AS, &r))
	r.Cur = addressSpace(t) + more
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_AS, &r))
}

func useScarceMemory(t *testing.T) {
	const million = 1_000_000
	for name, test := range map[string]struct {
		layer, shape string
		steps        []int // shape of an example
	}{
		"RepeatVector":     {fmt.Sprintf(`"RepeatVector","config":{"name":"big","n":%d}`, 75*million), "[null,1]", []int{1}},
		"UpSampling1D":     {fmt.Sprintf(`"UpSampling1D","config":{"name":"big","size":%d}`, 75*million), "[null,1,1]", []int{1, 1}},
		"ZeroPadding1D":    {fmt.Sprintf(`"ZeroPadding1D","config":{"name":"big","padding":[%d,0]}`, 75*million), "[null,1,1]", []int{1, 1}},
		"CategoryEncoding": {fmt.Sprintf(`"CategoryEncoding","config":{"name":"big","num_tokens":%d}`, 75*million), "[null,1]", []int{1}},
		"Embedding":        {fmt.Sprintf(`"Embedding","config":{"name":"big","input_dim":%d,"output_dim":8}`, 40*million), "[null,1]", []int{1}},
		"Hashing":          {fmt.Sprintf(`"Hashing","config":{"name":"big","output_mode":"one_hot","num_bins":%d}`, 75*million), "[null,1]", []int{1}},
		"Dense":            {fmt.Sprintf(`"Dense","config":{"name":"big","units":%d}`, 150*million), "[null,2]", []int{2}},
	} {
		m, err := keras.ModelFromJSON(fmt.Appendf(nil, `{"module":"keras","class_name":"Sequential","config":{"name":"model","layers":[
			{"module":"keras.layers","class_name":"InputLayer","config":{"batch_shape":%s,"dtype":"float32","name":"in"}},
			{"module":"keras.layers","class_name":%s}]}}`, test.shape, test.layer))
		require.NoError(t, err, name)
		x := data.Must(data.Zeros[float32](append([]int{2}, test.steps...)...))
		_, err = m.Predict(context.Background(), data.Arrays(data.List(x), data.Tensors{}))
		require.ErrorContains(t, err, "bytes of memory", name)
		require.ErrorContains(t, err, "raise the limit", name)
	}
	scarceMemoryOfManyBatches(t)
	scarceMemoryOfTraining(t)
}

// scarceMemoryOfManyBatches: there is memory for each batch, but not for their concatenation.
func scarceMemoryOfManyBatches(t *testing.T) {
	m, err := keras.ModelFromJSON([]byte(`{"module":"keras","class_name":"Sequential","config":{"name":"model","layers":[
		{"module":"keras.layers","class_name":"InputLayer","config":{"batch_shape":[null,1],"dtype":"float32","name":"in"}},
		{"module":"keras.layers","class_name":"RepeatVector","config":{"name":"big","n":10000000}}]}}`))
	require.NoError(t, err)
	x := data.Must(data.Zeros[float32](40, 1))
	_, err = m.Predict(context.Background(), data.Arrays(data.List(x), data.Tensors{}), keras.BatchSize(1))
	require.ErrorContains(t, err, "output 0 of shape (40, 10000000, 1)")
	_, err = m.Predict(context.Background(), data.FromTensorSlices(x, nil).Batch(1, false))
	require.ErrorContains(t, err, "bytes of memory")
	few := data.Must(data.Zeros[float32](2, 1))
	_, err = m.Predict(context.Background(), data.Arrays(data.List(few), data.Tensors{}), keras.BatchSize(1))
	require.NoError(t, err)
}

// scarceMemoryOfTraining: there is memory for weights and results, but not for gradients and the optimizer's slots.
func scarceMemoryOfTraining(t *testing.T) {
	m, err := keras.ModelFromJSON([]byte(`{"module":"keras","class_name":"Sequential","config":{"name":"model","layers":[
		{"module":"keras.layers","class_name":"InputLayer","config":{"batch_shape":[null,1],"dtype":"float32","name":"in"}},
		{"module":"keras.layers","class_name":"Embedding","config":{"name":"big","input_dim":10000000,"output_dim":8}}]}}`))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Loss: "mse", Optimizer: "adam"}))
	x := data.Must(data.Zeros[float32](2, 1))
	y := data.Must(data.Zeros[float32](2, 1, 8))
	_, err = m.TrainOnBatch(context.Background(), data.Arrays(data.List(x), data.List(y)))
	require.ErrorContains(t, err, "bytes of memory")
	require.ErrorContains(t, err, "big") // the layer
}
