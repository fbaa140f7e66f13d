package layers

import "github.com/gokeras/gokeras/kernels"

// runningMoments holds the means and the sums of squared deviations of all added values, one for each position on the
// kept axes.
type runningMoments struct {
	axes         []int // kept, in increasing order
	n            float64
	mean, square []float64
}

// add adds a batch. It uses Welford's method, and that of Chan, Golub and LeVeque for neighbouring values that share a
// mean, which avoids differences of large numbers.
//
//dim:known data
func (m *runningMoments) add(b kernels.Array) {
	shape := b.Type.Shape
	strides := make([]int, len(shape)) // into mean and square; 0 for an axis that is not kept
	step := 1
	for i := len(m.axes) - 1; i >= 0; i-- {
		strides[m.axes[i]] = step
		step *= shape[m.axes[i]]
	}
	outer, run := len(shape), 1 // the last axes that are all kept, or all not
	kept := outer > 0 && strides[outer-1] != 0
	for outer > 0 && (strides[outer-1] != 0) == kept {
		outer--
		run *= shape[outer]
	}
	counts := make([]float64, len(m.mean)) // of the batch
	values := make([]float64, min(run, momentsRun))
	own, _ := kernels.View[float32](b) // nil: they are converted one by one
	index := make([]int, outer)
	at := 0
	for from := 0; from < shape.Size(); from += run {
		for first := 0; first < run; first += momentsRun {
			part := values[:min(momentsRun, run-first)]
			if own != nil {
				for i, v := range own[from+first:][:len(part)] {
					part[i] = float64(v)
				}
			} else {
				for i := range part {
					part[i] = b.Element(from + first + i)
				}
			}
			if kept {
				m.addEach(part, at+first, counts)
			} else {
				m.addRow(part, at, counts)
			}
		}
		for j := outer - 1; j >= 0; j-- {
			index[j]++
			at += strides[j]
			if index[j] < shape[j] {
				break
			}
			at -= strides[j] * index[j]
			index[j] = 0
		}
	}
	m.n += counts[0]
}

// momentsRun is the number of values that are converted at a time, so that they stay in the first-level cache.
const momentsRun = 1024

// addEach adds a value to each of the neighbours from at on. They are always added together, so all share one count.
func (m *runningMoments) addEach(values []float64, at int, counts []float64) {
	counts[at]++
	share := 1 / (m.n + counts[at])
	mean, square := m.mean[at:][:len(values)], m.square[at:][:len(values)]
	for i, x := range values {
		d := x - mean[i]
		mean[i] += d * share
		square[i] += d * (x - mean[i])
	}
}

// addRow adds values to one position.
func (m *runningMoments) addRow(values []float64, at int, counts []float64) {
	k := float64(len(values))
	mean := sum(values) / k
	square := squares(values, mean)
	before := m.n + counts[at]
	counts[at] += k
	d := mean - m.mean[at]
	m.mean[at] += d * k / (before + k)
	m.square[at] += square + d*d*before*k/(before+k)
}

// sum adds up values in four independent sums, so that additions do not wait for each other.
func sum(values []float64) float64 {
	var a, b, c, d float64
	for len(values) >= 4 {
		v := (*[4]float64)(values)
		a, b, c, d = a+v[0], b+v[1], c+v[2], d+v[3]
		values = values[4:]
	}
	for _, v := range values {
		a += v
	}
	return a + b + (c + d)
}

// squares adds the squared differences from the mean.
func squares(values []float64, mean float64) float64 {
	var a, b, c, d float64
	for len(values) >= 4 {
		v := (*[4]float64)(values)
		p, q, r, s := v[0]-mean, v[1]-mean, v[2]-mean, v[3]-mean
		a, b, c, d = a+p*p, b+q*q, c+r*r, d+s*s
		values = values[4:]
	}
	for _, v := range values {
		a += (v - mean) * (v - mean)
	}
	return a + b + (c + d)
}
