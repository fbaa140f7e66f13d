package clustertest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
)

func TestWorkersHavePortsOfTheirOwn(t *testing.T) {
	addresses, err := clustertest.Workers(t, 5).JobTasks(cluster.Worker)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, a := range addresses {
		require.False(t, seen[a], a)
		seen[a] = true
	}
	require.Len(t, seen, 5)
}
