package cpu_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/kernels/cpu"
)

func TestMeasurePeak(t *testing.T) {
	peak := cpu.MeasurePeak(10 * time.Millisecond)
	assert.Greater(t, peak, 1e8, "even plain Go multiplies a hundred million numbers in a second")
	assert.Less(t, peak, 1e15)
}
