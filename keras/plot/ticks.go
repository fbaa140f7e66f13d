package plot

import (
	"math"
	"strconv"
)

// tick is a mark on an axis.
type tick struct {
	value float64
	label string
}

// roomy widens a range by a twentieth. A range of a single value becomes an interval around it.
func roomy(low, high float64) (float64, float64) {
	pad := (high - low) / 20
	if pad == 0 {
		pad = math.Abs(high) / 10
	}
	if pad == 0 {
		pad = 1
	}
	return low - pad, high + pad
}

// epochTicks marks at most ten whole epochs.
func epochTicks(low, high float64) []tick {
	return ticks(low, high, max(1, niceStep((high-low)/10)))
}

// valueTicks marks at most six round values.
func valueTicks(low, high float64) []tick { return ticks(low, high, niceStep((high-low)/6)) }

// niceStep returns the smallest of 1, 2 and 5 times a power of ten that is not below the given distance.
func niceStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= least*(1-1e-9) {
			return factor * power
		}
	}
	return 10 * power
}

// ticks marks the multiples of step, with enough digits to tell them apart.
func ticks(low, high, step float64) []tick {
	format, digits := byte('f'), max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	largest := max(math.Abs(low), math.Abs(high))
	if digits > 4 || largest >= 1e6 {
		format, digits = 'e', max(0, int(math.Floor(math.Log10(largest))-math.Floor(math.Log10(step)+1e-9)))
	}
	var marks []tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+1e-9*step && len(marks) < 100; i++ {
		v := i * step
		if v == 0 {
			v = 0 // not -0
		}
		marks = append(marks, tick{v, strconv.FormatFloat(v, format, digits, 64)})
	}
	return marks
}
