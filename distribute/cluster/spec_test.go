package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
)

// TestJobWithoutTasks checks that a job without tasks is written as an object, as TensorFlow's ClusterSpec.as_dict
// gives it.
func TestJobWithoutTasks(t *testing.T) {
	for _, text := range []string{`{"worker":{}}`, `{"worker":[]}`} {
		var s cluster.Spec
		require.NoError(t, s.UnmarshalJSON([]byte(text)))
		assert.Equal(t, `{"worker":{}}`, s.String())
	}
}
