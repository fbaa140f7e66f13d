// Package clustertest helps tests that start workers on this machine.
package clustertest

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
)

// Workers describes a cluster of n workers on free ports of the loopback interface.
func Workers(t testing.TB, n int) *cluster.Spec {
	t.Helper()
	var addresses []string
	var held []net.Listener // until all are chosen, so that no port comes twice
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addresses, held = append(addresses, l.Addr().String()), append(held, l)
	}
	for _, l := range held {
		require.NoError(t, l.Close())
	}
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: addresses})
	require.NoError(t, err)
	return spec
}
