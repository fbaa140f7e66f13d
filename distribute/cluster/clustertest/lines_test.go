package clustertest_test

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
)

// TestLines: what passes a line arrives, up to the byte of a fault.
func TestLines(t *testing.T) {
	addresses, behind := clustertest.Lines(t, 1, func(int) []clustertest.Fault { return []clustertest.Fault{{At: 5, Kind: clustertest.Cut}} })
	for _, want := range []string{"12345", "1234567"} {
		near, err := net.Dial("tcp", addresses[0])
		require.NoError(t, err)
		far, err := behind[0].Accept()
		require.NoError(t, err)
		_, err = near.Write([]byte("1234567"))
		require.NoError(t, err)
		require.NoError(t, near.(*net.TCPConn).CloseWrite())
		got, _ := io.ReadAll(far)
		require.Equal(t, want, string(got))
	}
}
