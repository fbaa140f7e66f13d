//go:build linux

package fakenccl

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
)

// The libraries of one world never draw the same id twice, in one process or in several: communicators with the same id
// would be connected.
func TestUniqueIDs(t *testing.T) {
	w := NewWorld()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "world"))
	require.NoError(t, err)
	defer l.Close()
	go w.Serve(l)
	far, err := Dial("unix", l.Addr().String(), fakedriver.New(fakedriver.Options{}))
	require.NoError(t, err)
	libraries := []*Library{New(w, fakedriver.New(fakedriver.Options{})), New(w, fakedriver.New(fakedriver.Options{})), far}
	seen := map[nccl.ID]bool{{}: true}
	for i := range 3 * 300 {
		id, r := libraries[i%3].UniqueID()
		require.Equal(t, nccl.Success, r)
		require.False(t, seen[id], "id %d, %x, was drawn before", i, id[:8])
		seen[id] = true
	}
}
