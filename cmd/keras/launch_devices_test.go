package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLaunchDevices: each worker sees GPUs of its own, of those that the launcher sees.
func TestLaunchDevices(t *testing.T) {
	shown := func(args ...string) (int, string, string) {
		return execute(t, append(append([]string{"launch"}, args...), "--", "/bin/sh", "-c", `echo "sees <$`+devicesVariable+`>"`)...)
	}
	t.Setenv(devicesVariable, "") // so that it is restored
	os.Unsetenv(devicesVariable)
	status, stdout, stderr := shown("-n", "3", "--devices-per-worker", "1", "--evaluator")
	require.Zero(t, status, stderr)
	for _, line := range []string{"[worker 0] sees <0>\n", "[worker 1] sees <1>\n", "[worker 2] sees <2>\n", "[evaluator] sees <>\n"} {
		assert.Contains(t, stdout, line)
	}
	t.Setenv(devicesVariable, "5, GPU-a,2,7,1")
	status, stdout, stderr = shown("-n", "2", "--devices-per-worker", "2")
	require.Zero(t, status, stderr)
	assert.Contains(t, stdout, "[worker 0] sees <5,GPU-a>\n")
	assert.Contains(t, stdout, "[worker 1] sees <2,7>\n")
	_, stdout, _ = shown("-n", "1")
	assert.Contains(t, stdout, "[worker 0] sees <5, GPU-a,2,7,1>\n", "without the flag the environment stays")

	for want, set := range map[string]string{"3 workers need 6 GPUs, and CUDA_VISIBLE_DEVICES names 5": "5,GPU-a,2,7,1", "names the GPU 2 twice": "2,1,2,3,4,5"} {
		t.Setenv(devicesVariable, set)
		status, _, stderr := shown("-n", "3", "--devices-per-worker", "2")
		assert.Equal(t, 2, status)
		assert.Contains(t, stderr, want)
	}
	status, _, stderr = shown("-n", "3", "--devices-per-worker", "-1")
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, "--devices-per-worker -1: expected")
}
