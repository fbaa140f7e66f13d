package quantizers

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/kernels"
)

// Quantize quantizes a matrix w (inputs, outputs). s holds the statistics of the inputs. Input i is first multiplied by
//
//	saliency[i] = m[i]^r / sqrt(max(m^r)·min(m^r)),   m[i] = largest |x[i]|
//
// with the r, out of GridPoints + 1 values between 0 and 1, that minimizes the mean of (m[i]·(w[i, j] - its quantized
// value))².
func (c *AWQConfig) Quantize(w kernels.Array, s Statistics) (Calibrated, error) {
	if err := c.Check(); err != nil {
		return Calibrated{}, err
	}
	outputs, err := outputsOf("AWQ", w, s.Rows, len(s.Magnitudes))
	if err != nil {
		return Calibrated{}, err
	}
	a := &awq{size: or(c.GroupSize, 128), round: precise(w.Type.DType), outputs: outputs}
	inputs := len(s.Magnitudes)
	if a.size == -1 || a.size > inputs {
		a.size = inputs
	}
	magnitudes := make([]float64, inputs)
	for i, m := range s.Magnitudes {
		if math.IsNaN(m) || math.IsInf(m, 0) {
			return Calibrated{}, fmt.Errorf("quantizers: AWQ: calibration saw the input %v in feature %d; give inputs for which the model computes finite numbers", m, i)
		}
		if magnitudes[i] = m; m < 1e-8 {
			magnitudes[i] = 1
		}
	}
	points, least := or(c.GridPoints, 20), math.Inf(1)
	var saliency []float64
	for i := range points + 1 {
		tried := a.saliency(magnitudes, float64(i)/float64(points))
		if loss := a.loss(magnitudes, tried); loss < least {
			least, saliency = loss, tried
		}
	}
	if saliency == nil { // nothing is a number
		saliency = a.saliency(magnitudes, 0)
	}
	numbers, grids := a.quantize(saliency)
	group := make([]float64, inputs)
	for i := range group {
		group[i] = float64(i / a.size)
	}
	out, err := calibrated(w.Type.DType, numbers, grids, group)
	if err != nil {
		return out, err
	}
	out.Saliency, err = kernels.FromFloat64s(w.Type.DType, []int{inputs}, saliency)
	return out, err
}

// awq quantizes one matrix.
type awq struct {
	size    int // of groups
	round   func(float64) float64
	outputs [][]float64 // [output][input]
}

// saliency returns the factors of the inputs for one exponent.
func (a *awq) saliency(magnitudes []float64, exponent float64) []float64 {
	out := make([]float64, len(magnitudes))
	for i, m := range magnitudes {
		out[i] = max(a.round(math.Pow(m, exponent)), a.round(1e-4))
	}
	least, greatest := extremes(out)
	middle := max(a.round(math.Sqrt(a.round(greatest*least))), a.round(1e-8))
	for i := range out {
		out[i] = a.round(out[i] / middle)
	}
	return out
}

// quantize returns numbers and grids of the weights times saliency. If there are several groups, a shorter last one
// counts as if it were filled with zeros.
func (a *awq) quantize(saliency []float64) ([][]float64, [][]grid) {
	inputs := len(saliency)
	numbers, grids := make([][]float64, len(a.outputs)), make([][]grid, len(a.outputs))
	eachOf(len(a.outputs), func(from, to int) {
		for j := from; j < to; j++ {
			row := make([]float64, inputs)
			for i, w := range a.outputs[j] {
				row[i] = a.round(w * saliency[i])
			}
			for low := 0; low < inputs; low += a.size {
				members := row[low:min(low+a.size, inputs)]
				least, greatest := extremes(members)
				if len(members) < a.size {
					least, greatest = min(least, 0), max(greatest, 0)
				}
				g := gridOf(least, greatest, 4, false, a.round)
				for i, w := range members {
					members[i] = g.number(w, a.round)
				}
				grids[j] = append(grids[j], g)
			}
			numbers[j] = row
		}
	})
	return numbers, grids
}

// loss returns the mean of the squared errors, each weighted by the square of its input's magnitude.
func (a *awq) loss(magnitudes, saliency []float64) float64 {
	numbers, grids := a.quantize(saliency)
	sum := 0.0
	for j, row := range a.outputs {
		for i, w := range row {
			e := (w - grids[j][i/a.size].value(numbers[j][i], a.round)/saliency[i]) * magnitudes[i]
			sum += e * e
		}
	}
	return sum / float64(len(a.outputs)*len(saliency))
}
