package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

func TestBench(t *testing.T) {
	model := filepath.Join(smallModel(t), "model.keras")
	for _, mode := range []string{"train", "predict"} {
		status, stdout, stderr := execute(t, "bench", model, "--mode", mode, "--batch-size", "4", "--seconds", "0.1", "--json")
		require.Zero(t, status, stderr)
		var b benchmark
		require.NoError(t, json.Unmarshal([]byte(stdout), &b))
		assert.Equal(t, mode, b.Mode)
		assert.Equal(t, 4, b.BatchSize)
		assert.Positive(t, b.StepsPerSecond)
		assert.InEpsilon(t, 4*b.StepsPerSecond, b.ExamplesPerSecond, 1e-9)
		assert.LessOrEqual(t, b.P50, b.P99)
		assert.Positive(t, b.GFLOPs)
		assert.Positive(t, b.RSS)
		assert.Less(t, b.AllocsPerStep, 1.0, mode)
	}
}

func TestProfile(t *testing.T) {
	model := filepath.Join(smallModel(t), "model.keras")
	status, stdout, stderr := execute(t, "profile", model, "--batch-size", "4", "--seconds", "0.05", "--json")
	require.Zero(t, status, stderr)
	var table callbacks.ProfileTable
	require.NoError(t, json.Unmarshal([]byte(stdout), &table))
	require.NotEmpty(t, table)
	total, products := 0.0, 0
	for _, row := range table {
		total += row.Percent
		if row.GFLOPs > 0 {
			products++
		}
	}
	assert.InDelta(t, 100, total, 1e-6)
	assert.Positive(t, products)
	status, stdout, _ = execute(t, "profile", model, "--seconds", "0.05")
	assert.Zero(t, status)
	assert.Contains(t, stdout, "GFLOP/s")
}

// TestBenchOnDevices: both commands run where they are told to.
func TestBenchOnDevices(t *testing.T) {
	model := filepath.Join(smallModel(t), "model.keras")
	for _, command := range []string{"bench", "profile"} {
		for _, on := range [][]string{{"--devices", "cpu:1"}, {"--strategy", "mirrored", "--devices", "cpu:0,cpu:1"}} {
			status, stdout, stderr := execute(t, append([]string{command, model, "--seconds", "0.05"}, on...)...)
			require.Zero(t, status, stderr)
			assert.Contains(t, stdout, "GFLOP/s")
		}
		status, _, stderr := execute(t, command, model, "--devices", "abacus:0")
		assert.NotZero(t, status)
		assert.Contains(t, stderr, "abacus")
		status, _, stderr = execute(t, command, model, "--devices", "cpu:0,cpu:1")
		assert.Equal(t, 2, status)
		assert.Contains(t, stderr, "add --strategy mirrored")
	}
}

// TestBenchOfText: texts are made up as well as numbers.
func TestBenchOfText(t *testing.T) {
	words := &layers.TextVectorization{OutputSequenceLength: 5}
	require.NoError(t, words.SetVocabulary([]string{"word1", "word2"}))
	text := keras.Input(keras.Shape(1), keras.DType("string"))
	x := layers.Apply(&layers.Embedding{InputDim: 4, OutputDim: 3}, layers.Apply(words, text))
	m, err := keras.NewFunctional(keras.Inputs(text), keras.Outputs(layers.Apply(&layers.GlobalAveragePooling1D{}, x)))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "text.keras")
	require.NoError(t, m.Save(path))
	for _, command := range []string{"bench", "profile"} {
		status, stdout, stderr := execute(t, command, path, "--mode", "predict", "--batch-size", "4", "--seconds", "0.05", "--json")
		require.Zero(t, status, stderr)
		assert.NotEmpty(t, stdout)
	}
}

func TestBenchMistakes(t *testing.T) {
	model := filepath.Join(smallModel(t), "model.keras")
	for _, args := range [][]string{{"--mode", "fit"}, {"--batch-size", "0"}, {"--seconds", "-1"}} {
		status, _, stderr := execute(t, append([]string{"bench", model}, args...)...)
		assert.Equal(t, 2, status, stderr)
	}
}
