package kernels_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/kernels"
)

type printer struct{}

func (printer) Ran(program string, ops []kernels.OpTime) {
	for _, op := range ops {
		fmt.Println(program, op.Name, op.Calls)
	}
}

func TestMeterOf(t *testing.T) {
	var current kernels.Meter
	ctx := kernels.WithMeter(t.Context(), func() kernels.Meter { return current })
	assert.Nil(t, kernels.MeterOf(ctx))
	current = printer{}
	assert.Equal(t, current, kernels.MeterOf(ctx))
	assert.Nil(t, kernels.MeterOf(t.Context()))
}

func ExampleMeter() {
	ctx := kernels.WithMeter(context.Background(), func() kernels.Meter { return printer{} })
	if m := kernels.MeterOf(ctx); m != nil { // in a backend, after a launch
		m.Ran("train_step", []kernels.OpTime{{Name: "dot+add", Calls: 1}})
	}
	// Output: train_step dot+add 1
}
