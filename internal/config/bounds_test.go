package config

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

type sized struct {
	Units  int      `keras:"units"`
	Limit  *int     `keras:"limit"`
	Kernel []int    `keras:"kernel_size"`
	Axes   [][]int  `keras:"axes"`
	Seed   *int     `keras:"seed"`
	Token  int64    `keras:"token"`
	Words  []string `keras:"words"`
	Known  []int    `keras:"vocabulary"`
}

// TestBounds: sizes end where products of two of them still fit, in files and in Go alike; seeds and 64-bit values do
// not.
func TestBounds(t *testing.T) {
	for _, text := range []string{`{"units":2147483648}`, `{"units":-2147483648}`, `{"limit":1e12}`, `{"kernel_size":[3,9223372036854775807]}`, `{"axes":[[1],[2,-9223372036854775808]]}`} {
		require.ErrorContains(t, Decode(json.RawMessage(text), &sized{}), "expected a number between -2147483647 and 2147483647", text)
	}
	require.NoError(t, Decode(json.RawMessage(`{"units":2147483647,"kernel_size":[-2147483647],"seed":9223372036854775807,"vocabulary":[9007199254740993],"token":-9223372036854775808}`), &sized{}))
	require.ErrorContains(t, CheckBounds(&sized{Limit: new(math.MaxInt)}), "sized: Limit is 9223372036854775807")
	require.NoError(t, CheckBounds(&sized{Seed: new(math.MaxInt), Token: math.MaxInt64}))
	require.NoError(t, CheckBounds((*sized)(nil)))
	require.NoError(t, CheckBounds(3))
}
