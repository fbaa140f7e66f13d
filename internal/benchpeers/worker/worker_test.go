package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	in := strings.NewReader("W10-sgd:fit 0.001\nW10-b1:predict 0.001\n")
	require.NoError(t, serve(in, &out, []string{"W10-sgd:fit", "W10-b1:predict", "W0-sgd:fit"}))
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
	assert.Equal(t, []string{"W10-sgd:fit", "W10-b1:predict"}, ready.Ready)
	assert.Contains(t, ready.Failed, "W0-sgd:fit")
	for _, key := range ready.Ready {
		var m measurement
		next(&m)
		assert.Equal(t, key, m.Key)
		assert.Positive(t, m.Rate)
		assert.Positive(t, m.Peak)
		assert.Equal(t, strings.HasSuffix(key, "predict"), m.P50 > 0)
	}
	assert.Error(t, serve(strings.NewReader("W1-sgd:fit 1\n"), &out, nil))
}
