package main

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// fourCores stands for a compiler; it keeps the program that it is given.
type fourCores struct{ program *ir.Program }

func (c *fourCores) Devices() int  { return 4 }
func (c *fourCores) Model() string { return "core" }
func (c *fourCores) Close() error  { return nil }
func (c *fourCores) Compile(p *ir.Program) (analysis, error) {
	c.program = p
	return analysis{FLOPs: 2e9, Peak: 3e6, Arguments: 2e6, Aliased: 1e6, Temporary: 5e5, Code: 7e3}, nil
}

// A step is traced for all cores of the target together: each has its part of the batch, and their gradients are
// summed.
func TestCompile(t *testing.T) {
	model := filepath.Join(smallModel(t), "model.keras")
	cores := &fourCores{}
	openTarget = func(plugin, name string) (target, error) {
		if name != "v5e:2x2" {
			return nil, errors.New("no such devices: " + name)
		}
		return cores, nil
	}
	defer func() { openTarget = nil }()
	status, stdout, stderr := execute(t, "compile", model, "--target", "v5e:2x2", "--batch-size", "8")
	require.Zero(t, status, stderr)
	for _, want := range []string{"v5e:2x2: 4 x core", "train, batch of 8, 2 on each", "2 GFLOP on each", "3 MB", "1 MB", "0.5 MB", "0.007 MB"} {
		assert.Contains(t, stdout, want)
	}
	sums := 0
	for i := range cores.program.Nodes {
		if n := &cores.program.Nodes[i]; n.Op == ir.AllReduce {
			sums++
			require.Equal(t, 4, n.Attrs.(ir.CollectiveAttrs).Replicas)
		}
	}
	require.NotZero(t, sums)
	require.Equal(t, 2, cores.program.Type(cores.program.Inputs[0].Value).Shape[0])

	status, stdout, stderr = execute(t, "compile", model, "--target", "v5e:2x2", "--mode", "predict", "--batch", "8", "--json")
	require.Zero(t, status, stderr)
	assert.Contains(t, stdout, `"replicas":4,"mode":"predict","batch_size":8,"per_device":{"flops":2000000000,`)
	assert.Contains(t, stdout, `"most_flops":{"layer":"`)

	for message, args := range map[string][]string{
		"which need equal parts of a batch": {"--target", "v5e:2x2", "--batch-size", "9"},
		"no such devices: v9:1":             {"--target", "v9:1"},
	} {
		status, _, stderr := execute(t, append([]string{"compile", model}, args...)...)
		require.NotZero(t, status)
		require.Contains(t, stderr, message)
	}
}
