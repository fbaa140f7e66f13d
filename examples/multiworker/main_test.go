package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
)

// The test binary, started again, is the program.
func TestMain(m *testing.M) {
	if os.Getenv("EXAMPLE_WORKER") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestTwoWorkersTrainLikeOne(t *testing.T) {
	var one bytes.Buffer
	require.NoError(t, run(t.Context(), &one, "tfconfig", "", 3, 0))
	spec := clustertest.Workers(t, 2)
	var workers []*exec.Cmd
	outputs := make([]bytes.Buffer, 2)
	for i := range 2 {
		config, err := cluster.FormatTFConfig(spec, cluster.Task{Type: cluster.Worker, Index: i})
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-epochs", "3", "-backup", t.TempDir())
		cmd.Env = append(os.Environ(), "EXAMPLE_WORKER=1", cluster.TFConfigVariable+"="+config)
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		require.NoError(t, cmd.Start())
		workers = append(workers, cmd)
	}
	for i, cmd := range workers {
		require.NoError(t, cmd.Wait(), outputs[i].String())
	}
	require.Empty(t, outputs[1].String(), "only the chief talks")
	var first, last, sameFirst, sameLast float64
	_, err := fmt.Sscanf(one.String(), "1 workers, 1 replicas: loss %f after the first epoch, %f after the last\n", &first, &last)
	require.NoError(t, err, one.String())
	_, err = fmt.Sscanf(outputs[0].String(), "2 workers, 2 replicas: loss %f after the first epoch, %f after the last\n", &sameFirst, &sameLast)
	require.NoError(t, err, outputs[0].String())
	require.InDelta(t, first, sameFirst, 2e-4)
	require.InDelta(t, last, sameLast, 2e-4)
	require.Less(t, last, first)
}

func TestUnknownCluster(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}, "nomad", "", 1, 0), "use tfconfig, slurm or kubernetes")
}
