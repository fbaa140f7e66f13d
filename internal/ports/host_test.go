package ports

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNeighbours(t *testing.T) {
	all := []string{"127.0.0.1:1", "localhost:2", "[::1]:3", "a:1", "a:2", "10.0.0.1:1", "10.0.0.2:1", "10.0.0.1:2", "wrong"}
	for own, want := range map[string]int{"127.0.0.1:1": 3, "[::1]:3": 3, "a:2": 2, "10.0.0.1:1": 2, "10.0.0.2:1": 1, "wrong": 1} {
		require.Equal(t, want, Neighbours(own, all), own)
	}
	require.True(t, Loopback("127.0.0.7:1"))
	require.False(t, Loopback("128.0.0.7:1"))
}
