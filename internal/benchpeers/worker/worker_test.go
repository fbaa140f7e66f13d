package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
)

func TestAllKeysBuild(t *testing.T) {
	for _, key := range allKeys {
		j, err := newJob(key)
		require.NoError(t, err, key)
		assert.Positive(t, j.units, key)
		assert.Equal(t, strings.HasPrefix(key, "W10"), j.flops == 0, key)
	}
	for _, key := range []string{"", "W1", "W9-sgd:fit", "W1-sgd", "W1-other:fit", "W1-sgd:other"} {
		_, err := newJob(key)
		assert.Error(t, err, key)
	}
	assert.InEpsilon(t, 2*40.8e6, residualFlops(), 0.02, "He et al. count 0.27 million weights and some 41 million products for ResNet-20")
}

func TestProtocol(t *testing.T) {
	var out bytes.Buffer
	keys := []string{"W10-sgd:fit", "W10-b1:predict", "dispatch:launch"}
	in := strings.NewReader("W10-sgd:fit 0.001\nW10-b1:predict 0.001\ndispatch:launch 0.001\n")
	require.NoError(t, serve(in, &out, append(keys, "W0-sgd:fit")))
	lines := bufio.NewScanner(&out)
	next := func(into any) {
		require.True(t, lines.Scan())
		require.NoError(t, json.Unmarshal(lines.Bytes(), into))
	}
	var ready struct {
		Ready  []string
		Failed map[string]string
	}
	next(&ready)
	assert.Equal(t, keys, ready.Ready)
	assert.Contains(t, ready.Failed, "W0-sgd:fit")
	for _, key := range ready.Ready {
		var m measurement
		next(&m)
		assert.Equal(t, key, m.Key)
		assert.Positive(t, m.Rate)
		assert.Positive(t, m.Peak)
		assert.Equal(t, !strings.HasSuffix(key, "fit"), m.P50 > 0)
	}
	assert.Error(t, serve(strings.NewReader("W1-sgd:fit 1\n"), &out, nil))
}

// TestScaling: a replica has as many examples when there are two, and two workers train together.
func TestScaling(t *testing.T) {
	s, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	require.NoError(t, err)
	two, err := newJobUnder("W10-sgd:fit", s)
	require.NoError(t, err)
	assert.Equal(t, 20, two.batch)
	rate, err := two.on(2)(1)
	require.NoError(t, err)
	assert.Positive(t, rate)

	train, stop, err := startMembers("W10-sgd:fit", 2, 2)
	require.NoError(t, err)
	rate, err = train(2)
	require.NoError(t, err)
	assert.Positive(t, rate)
	require.NoError(t, stop())
	assert.Error(t, beMember(strings.NewReader("many\n"), io.Discard, "W10-sgd:fit"))
}

// TestMain lets the test's binary be the processes of startMembers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "--member" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestComparePolicies: networks of each kind are drawn, trained and used under each policy.
func TestComparePolicies(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, comparePolicies(&out, drawnSmall(101, 1), halfPolicies, 1e-6, 1))
	for _, kind := range smallKinds {
		assert.Contains(t, out.String(), "| "+kind+" training | mixed_bfloat16 | 1 |")
		assert.Contains(t, out.String(), "| "+kind+" predict 32 | mixed_float16 | 1 |")
	}
	for _, batch := range []string{" 1", " 8", ""} {
		assert.Contains(t, out.String(), "| usual training"+batch+" | mixed_float16 | 1 |")
	}
	assert.Empty(t, policy)
	works := policyKeys([]string{"W1-sgd:fit", "W10-sgd:fit"})
	assert.Len(t, works, 1)
	assert.Error(t, comparePolicies(&out, []policyWork{{"none", "W1", func() (*job, error) { return newJob("W1") }}}, halfPolicies, 1e-6, 1))
}
