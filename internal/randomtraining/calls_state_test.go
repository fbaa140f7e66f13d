package randomtraining

import (
	"fmt"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/kernels"
)

// tolerance leaves room for rounding of one type, and of what is recorded. LoRA's matrices are float32 everywhere.
// TensorFlow has the constants of float64 as float32 where exact_constants of draw.py was not called.
func (r *caller) tolerance() float64 {
	switch {
	case r.rough > 0:
		return r.rough
	case !r.c.Wide || r.narrow:
		return 1e-2
	case !r.c.Exact:
		return 1e-4
	}
	return 1e-5
}

func (r *caller) predicted(out []data.Array, want *callAnswer) string {
	if len(out) != len(want.Predictions) {
		return fmt.Sprintf("%d outputs, not %d", len(out), len(want.Predictions))
	}
	for i, y := range out {
		if text := want.Predictions[i].differs(y.Shape(), y.Float64s(), r.tolerance()); text != "" {
			return fmt.Sprintf("output %d: %s", i, text)
		}
	}
	return ""
}

// state compares the weights and the optimizer's variables, if both sides have them.
func (r *caller) state(want *callAnswer) string {
	weights, err := r.m.GetWeights()
	if err != nil {
		return err.Error()
	}
	if text := r.same(weights, want.State.Weights); text != "" {
		return "weights: " + text
	}
	slots, err := r.m.OptimizerArrays()
	if err != nil || len(slots) == 0 || want.State.Slots == nil {
		return ""
	}
	if text := r.same(slots, want.State.Slots); text != "" {
		return "optimizer: " + text
	}
	return ""
}

func (r *caller) same(arrays []kernels.Array, want [][]number) string {
	if len(arrays) != len(want) {
		return fmt.Sprintf("%d arrays, not %d", len(arrays), len(want))
	}
	for i, a := range arrays {
		got, size := digest(a.Float64s()), max(float64(want[i][2]), 1e-3)
		n := float64(len(a.Float64s()))
		for k, x := range got {
			y := float64(want[i][k])
			room := r.tolerance() * size * []float64{5 * n, 4 * n, 1}[k]
			if x != y && !(x != x && y != y) && !(x-y <= room && y-x <= room) {
				return fmt.Sprintf("array %d %v: %.7g, not %.7g", i, a.Shape(), got, want[i])
			}
		}
	}
	return ""
}

// digest is what calls.py records of an array.
func digest(v []float64) (d [3]float64) {
	for i, x := range v {
		d[0] += x * float64(i*37%11-5)
		d[1] += x * float64(i*53%7-2)
		if x < 0 {
			x = -x
		}
		if x > d[2] || x != x {
			d[2] = x
		}
	}
	return d
}
