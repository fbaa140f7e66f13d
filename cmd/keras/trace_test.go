package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// keras fit --trace writes what each replica did.
func TestFitTrace(t *testing.T) {
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	status, _, stderr := execute(t, "fit", path("model.keras"), "--x", path("both.npz"), "--y", path("both.npz"), "--batch-size", "2", "--verbose", "0",
		"--output", path("out.keras"), "--strategy", "mirrored", "--devices", "cpu:0,cpu:1", "--trace", path("trace.json"))
	require.Zero(t, status, stderr)
	var trace struct {
		TraceEvents []struct {
			Name, Ph string
			Args     map[string]any
		}
	}
	readJSON(t, path("trace.json"), &trace)
	seen := map[any]bool{}
	for _, e := range trace.TraceEvents {
		seen[e.Name] = true
		seen[e.Args["name"]] = true
	}
	for _, want := range []string{"training loop", "replica 0", "replica 1", "step", "wait for input", "all_reduce start", "all_reduce wait"} {
		assert.True(t, seen[want], want)
	}
}
