package hdf5

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzRead reads whatever bytes it is given. Checksums are not verified, so that what lies after them is reached.
func FuzzRead(f *testing.F) {
	seeds, err := filepath.Glob("testdata/seed_*.h5.gz")
	require.NoError(f, err)
	require.NotEmpty(f, seeds)
	for _, seed := range append(seeds, "testdata/types_latest.h5.gz", "testdata/sizes4.h5.gz") {
		f.Add(unpack(f, strings.TrimSuffix(filepath.Base(seed), ".gz")))
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		_ = readEverything(b, true, 1<<16)
	})
}
