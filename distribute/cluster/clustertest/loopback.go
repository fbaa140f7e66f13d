// Package clustertest helps tests that start workers on this machine.
package clustertest

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
)

// Workers describes a cluster of n workers on free ports of the loopback interface.
func Workers(t testing.TB, n int) *cluster.Spec { return Jobs(t, map[string]int{cluster.Worker: n}) }

// Jobs describes a cluster with so many tasks of each job on free ports of the loopback interface.
func Jobs(t testing.TB, tasks map[string]int) *cluster.Spec {
	t.Helper()
	addresses := map[string][]string{}
	var held []net.Listener // until all are chosen, so that no port comes twice
	for job, n := range tasks {
		for range n {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			addresses[job], held = append(addresses[job], l.Addr().String()), append(held, l)
		}
	}
	for _, l := range held {
		require.NoError(t, l.Close())
	}
	spec, err := cluster.NewSpec(addresses)
	require.NoError(t, err)
	return spec
}
