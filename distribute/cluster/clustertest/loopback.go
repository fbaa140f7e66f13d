// Package clustertest helps tests that start workers on this machine.
package clustertest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/internal/ports"
)

// Workers describes a cluster of n workers on free ports of the loopback interface.
func Workers(t testing.TB, n int) *cluster.Spec { return Jobs(t, map[string]int{cluster.Worker: n}) }

// Jobs describes a cluster with the given number of tasks of each job, on free ports of the loopback interface.
func Jobs(t testing.TB, tasks map[string]int) *cluster.Spec {
	t.Helper()
	addresses := map[string][]string{}
	for job, n := range tasks {
		var err error
		addresses[job], err = ports.Free(n)
		require.NoError(t, err)
	}
	spec, err := cluster.NewSpec(addresses)
	require.NoError(t, err)
	return spec
}
