package collective

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/kernels/ir"
)

// recordedOptions is what TensorFlow 2.21 answers to CommunicationOptions.
func recordedOptions(t *testing.T) (expected map[string]any) {
	for _, c := range tfvectors.Load(t, "../cluster/testdata/cluster.json.gz") {
		if c.ID == "cluster.communication_options" {
			expected = c.Map(t)
		}
	}
	require.NotEmpty(t, expected)
	return expected
}

func TestCommunicationVectors(t *testing.T) {
	t.Run("cluster.communication_options", func(t *testing.T) {
		want := recordedOptions(t)
		var o CommunicationOptions
		implementation, err := ParseImplementation(string(o.Implementation))
		require.NoError(t, err)
		require.EqualValues(t, tfvectors.Get(want, "defaults", 0), o.BytesPerPack)
		require.Nil(t, tfvectors.Get(want, "defaults", 1))
		require.Zero(t, o.Timeout)
		require.Equal(t, tfvectors.Get(want, "defaults", 2), string(implementation))
		require.True(t, tfvectors.IsError(want["negative_bytes"]))
		require.ErrorContains(t, CommunicationOptions{BytesPerPack: -1}.Check(), "at least 0, received -1")
		ring, err := ParseImplementation("ring")
		require.NoError(t, err)
		require.Equal(t, want["lower_case_text"], string(ring))
		require.True(t, tfvectors.IsError(want["unknown"]))
		_, err = ParseImplementation("MPI")
		require.ErrorContains(t, err, `"MPI" is not a communication implementation`)
		require.Len(t, want, 4)
	})
}

func TestCommunicationOptions(t *testing.T) {
	require.NoError(t, CommunicationOptions{}.Check())
	require.ErrorContains(t, CommunicationOptions{BytesPerPack: -1}.Check(), "at least 0, received -1")
	require.ErrorContains(t, CommunicationOptions{Timeout: -1}.Check(), "negative")
	require.ErrorContains(t, CommunicationOptions{Implementation: "MPI"}.Check(), `"MPI" is not a communication implementation`)
	i, err := ParseImplementation("ring")
	require.NoError(t, err)
	require.Equal(t, Ring, i)
	i, err = ParseImplementation("")
	require.NoError(t, err)
	require.Equal(t, Auto, i)

	o := CommunicationOptions{BytesPerPack: 7, Implementation: NCCL}
	require.Equal(t, o, o.Merge(CommunicationOptions{Implementation: Auto}))
	require.Equal(t, CommunicationOptions{7, time.Second, Ring, ir.BFloat16, true}, o.Merge(CommunicationOptions{Timeout: time.Second, Implementation: Ring, Wire: ir.BFloat16, Captured: true}))
	require.True(t, CommunicationOptions{Captured: true}.Merge(o).Captured)
	require.Equal(t, ir.BFloat16, CommunicationOptions{Wire: ir.BFloat16}.Merge(o).Wire)
	require.NoError(t, CommunicationOptions{Wire: ir.BFloat16}.Check())
	require.ErrorContains(t, CommunicationOptions{Wire: ir.Float16}.Check(), "cannot travel between workers as float16")
}

func TestPacks(t *testing.T) {
	tensors := []Tensor{Of(make([]float32, 4)), Of(make([]float32, 1)), Of(make([]float32, 2)), Of(make([]float32, 1))}
	require.Equal(t, [][]int{{3, 2, 1, 0}}, CommunicationOptions{}.Packs(tensors))
	require.Equal(t, [][]int{{3, 2}, {1}, {0}}, CommunicationOptions{BytesPerPack: 12}.Packs(tensors))
	require.Equal(t, [][]int{{3}, {2}, {1}, {0}}, CommunicationOptions{BytesPerPack: 1}.Packs(tensors))
	require.Empty(t, CommunicationOptions{}.Packs(nil))
}

func ExampleCommunicationOptions_Packs() {
	gradients := []Tensor{Of(make([]float32, 1000)), Of(make([]float32, 10)), Of(make([]float32, 10))}
	fmt.Println(CommunicationOptions{BytesPerPack: 1024}.Packs(gradients))
	// Output: [[2 1] [0]]
}
