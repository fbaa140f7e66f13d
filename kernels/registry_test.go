package kernels_test

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
)

// TestLookupOfOtherKinds: the error of a backend that is not linked says which import links it, if it is one of this
// module's. (Those of other modules register kinds of their own.)
func TestLookupOfOtherKinds(t *testing.T) {
	for _, kind := range []string{"cuda", "gpu", "tpu", "xla"} {
		_, err := kernels.Lookup(kind)
		require.ErrorContains(t, err, "no backend for device kind")
		_, of, found := strings.Cut(err.Error(), "to link it: import _ \"github.com/gokeras/gokeras/kernels/")
		require.True(t, found, err)
		info, err := os.Stat(path.Clean(strings.TrimSuffix(of, `"`)))
		require.NoError(t, err)
		require.True(t, info.IsDir())
	}
	_, err := kernels.Lookup("abacus")
	require.ErrorContains(t, err, `no backend for device kind "abacus" is linked into this program; it has: `)
	require.NotContains(t, err.Error(), "import")
}
