package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/kernels/cpu"
)

func TestAdd(t *testing.T) {
	a, b := make([]float32, 37), make([]float32, 40)
	for i := range a {
		a[i], b[i] = float32(i), 100
	}
	cpu.Add(a, a, b)
	for i, x := range a {
		assert.Equal(t, float32(100+i), x)
	}
	assert.Panics(t, func() { cpu.Add(b, a, b) }, "a is too short")
}
