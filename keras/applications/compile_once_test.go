package applications_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/applications"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/kernelstest/async"
)

// Four concurrent predictions compile ResNet-50 once, on one device and on two, and need no communicators.
func TestConcurrentPredictionsCompileOnce(t *testing.T) {
	b := async.New(async.Options{})
	kernels.Register(b)
	for _, devices := range [][]string{{"async:0"}, {"async:0", "async:1"}} {
		s, err := distribute.NewMirroredStrategy(devices...)
		require.NoError(t, err)
		m, err := applications.NewResNet50(applications.Options{InputShape: []int{32, 32, 3}, NoTop: true}, distribute.Scope(s))
		require.NoError(t, err)
		before := b.Stats()
		var together sync.WaitGroup
		for range 4 {
			together.Go(func() {
				x := data.Must(data.Zeros[float32](2, 32, 32, 3))
				_, err := m.Predict(t.Context(), data.Arrays(x, nil))
				assert.NoError(t, err)
			})
		}
		together.Wait()
		after := b.Stats()
		assert.EqualValues(t, 1, after.Compiled-before.Compiled, "%d devices", len(devices))
		assert.LessOrEqual(t, after.Sessions-before.Sessions, int64(4*len(devices)))
		assert.Equal(t, before.Connections, after.Connections)
	}
}
