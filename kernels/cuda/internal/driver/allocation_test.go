//go:build linux && !race

package driver_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

// The calls of each step do not allocate. Under the race detector they may: sync.Pool drops items on purpose.
func TestNoAllocation(t *testing.T) {
	api := library(t)
	d, err := driver.NewDevice(api, 0)
	require.NoError(t, err)
	module, _, _ := api.LoadModule("good")
	function := ok[driver.Handle](t)(api.Function(module, "kernel_0"))
	memory := ok[driver.Address](t)(api.Alloc(64, d.Stream))
	event := ok[driver.Handle](t)(api.NewEvent())
	args := []uint64{uint64(memory), 1, 2}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if d.Enter() != nil {
			return
		}
		api.Launch(function, driver.Config{Grid: [3]uint32{1, 1, 1}, Block: 32, Stream: d.Stream}, args)
		api.LaunchGraph(1, d.Stream)
		api.RecordEvent(event, d.Stream)
		api.QueryEvent(event)
		d.Leave()
	}))
}
