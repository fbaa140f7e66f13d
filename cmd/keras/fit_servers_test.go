package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFitOnParameterServers: a coordinator, two workers and two servers, all keras fit, train the small model, and it
// opens everywhere.
func TestFitOnParameterServers(t *testing.T) {
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	t.Setenv(role, "keras")
	fit := []string{os.Args[0], "fit", path("model.keras"), "--x", path("both.npz"), "--y", path("both.npz"), "--batch-size", "3", "--epochs", "3", "--verbose", "0", "--learning-rate", "0.002", // gradients of old values bear less than the default
		"--output", path("two.keras"), "--history", path("two.json"), "--strategy", "parameterserver"}
	status, _, stderr := execute(t, append(append([]string{"launch", "--ps", "2", "--workers", "2", "--"}, fit...), "--steps-per-epoch", "60")...)
	require.Zero(t, status, stderr)
	var history map[string][]float64
	readJSON(t, path("two.json"), &history)
	require.Len(t, history["loss"], 3)
	assert.Less(t, history["loss"][2], history["loss"][0])
	before := storedArrays(t, path("model.keras"))
	changed := false
	for name, a := range storedArrays(t, path("two.keras")) {
		if old, ok := before[name]; ok && !assert.ObjectsAreEqual(old.values, a.values) {
			changed = true
		}
	}
	assert.True(t, changed)
	status, _, stderr = execute(t, append([]string{"launch", "--ps", "1", "--workers", "1", "--restarts", "0", "--"}, fit...)...)
	assert.NotZero(t, status)
	assert.Contains(t, stderr, "needs --steps-per-epoch")
}

func TestLaunchServerMistakes(t *testing.T) {
	for words, args := range map[string][]string{
		"--ps -1: expected": {"launch", "--ps", "-1", "--", "true"},
		"--replicas 3":      {"launch", "--ps", "3", "--replicas", "3", "--", "true"},
		"at least two serv": {"launch", "--ps", "1", "--replicas", "2", "--", "true"},
	} {
		status, _, stderr := execute(t, args...)
		assert.NotZero(t, status)
		assert.Contains(t, stderr, words)
	}
}
