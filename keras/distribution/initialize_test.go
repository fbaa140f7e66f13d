package distribution_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/keras/distribution"
)

func ExampleProcesses() {
	number := 1
	resolver, err := distribution.Initialize(distribution.Processes{Addresses: []string{"10.0.0.1:2222", "10.0.0.2:2222"}, Number: &number})
	if err != nil {
		panic(err)
	}
	spec, task, err := cluster.Resolve(resolver) // for multiworker.NewStrategy(ctx, multiworker.Options{Resolver: resolver})
	fmt.Println(spec.NumTasks(cluster.Worker))
	fmt.Println(task, err)
	// Output:
	// 2 <nil>
	// worker:1 <nil>
}

// Missing settings come from Keras's variables; a single process needs none.
func TestInitialize(t *testing.T) {
	alone, err := distribution.Initialize(distribution.Processes{})
	require.NoError(t, err)
	spec, err := alone.Spec()
	require.NoError(t, err)
	require.True(t, spec.Empty())
	t.Setenv("KERAS_DISTRIBUTION_JOB_ADDRESSES", "a:1, b:2,c:3")
	t.Setenv("KERAS_DISTRIBUTION_NUM_PROCESSES", "3")
	t.Setenv("KERAS_DISTRIBUTION_PROCESS_ID", "2")
	r, err := distribution.Initialize(distribution.Processes{})
	require.NoError(t, err)
	spec, task, err := cluster.Resolve(r)
	require.NoError(t, err)
	require.Equal(t, cluster.Task{Type: cluster.Worker, Index: 2}, task)
	address, err := spec.Address(cluster.Task{Type: cluster.Worker, Index: 1})
	require.NoError(t, err)
	require.Equal(t, "b:2", address)
}

func TestInitializeMistakes(t *testing.T) {
	two := []string{"a:1", "b:1"}
	for _, c := range []struct {
		p       distribution.Processes
		message string
	}{
		{distribution.Processes{Count: -1}, "-1 processes; expected 1 or more"},
		{distribution.Processes{Count: 2}, "0 addresses [] for 2 processes"},
		{distribution.Processes{Addresses: two, Count: 3}, `2 addresses ["a:1" "b:1"] for 3 processes`},
		{distribution.Processes{Addresses: two}, "this one's number is missing"},
		{distribution.Processes{Addresses: two, Number: new(2)}, "has the number 2; expected 0 to 1"},
		{distribution.Processes{Addresses: []string{"a:1", "b"}, Number: new(0)}, `the address "b" of process 1; expected host:port`},
	} {
		_, err := distribution.Initialize(c.p)
		require.ErrorContains(t, err, c.message)
	}
	t.Setenv("KERAS_DISTRIBUTION_NUM_PROCESSES", "two")
	_, err := distribution.Initialize(distribution.Processes{})
	require.ErrorContains(t, err, `is "two"; expected a number`)
}
