package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/optimizers"
)

// TestUpdates: every optimizer is measured, on dense layers and tables, under each policy.
func TestUpdates(t *testing.T) {
	found := map[string]bool{"LossScaleOptimizer": true, "MultiOptimizer": true} // which have others inside
	for _, u := range updaters {
		found[strings.TrimPrefix(fmt.Sprintf("%T", u.make()), "*optimizers.")] = true
	}
	for _, name := range optimizers.ClassNames() {
		assert.True(t, found[name], "%s is not measured", name)
	}
	assert.Len(t, updates(nil), len(updaters)*len(updatedLayers))
	assert.Len(t, updates([]string{"table-1m adam "}), 1)
	defer func() { policy = "" }()
	for i, key := range []string{"updates-table-100k:adagrad", "updates-dense-100k:lion"} {
		policy = halfPolicies[2+i]
		j, err := newJob(key)
		require.NoError(t, err)
		steps, _, err := j.run()
		require.NoError(t, err)
		assert.Equal(t, 1, steps)
	}
	_, err := newJob("updates-table:adam")
	require.ErrorContains(t, err, "table")
}
