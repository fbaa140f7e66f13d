package data

import (
	"fmt"
	"math"
)

const (
	resampleCrossings = 32   // zero crossings of the filter to each side
	resampleBeta      = 9.0  // of the Kaiser window: about 90 dB
	resampleRolloff   = 0.94 // where the filter is at one half, as a part of the lower of both limits
	resampleMost      = 256  // the largest ratio of the rates
)

// resample converts a sound to another sampling rate (samples per second) with a low-pass filter, a sinc with a Kaiser
// window:
//
//	y[n] = sum over k of x[k] h(n in/out - k),  ceil(samples out/in) values
//
// Beyond its ends the sound is silent.
func (w *wave) resample(rate int) error {
	if rate == w.rate {
		return nil
	}
	if rate > w.rate*resampleMost || w.rate > rate*resampleMost {
		return fmt.Errorf("%d samples a second; expected at least 1/%d and at most %d times the sampling rate %d", w.rate, resampleMost, resampleMost, rate)
	}
	divisor := greatestCommonDivisor(rate, w.rate)
	up, down := rate/divisor, w.rate/divisor
	in := w.samples()
	if in > math.MaxInt/max(up, 1)/max(w.channels, 1)-down {
		return fmt.Errorf("%d samples; too many to be converted to %d samples a second", in, rate)
	}
	out := make([]float32, (in*up+down-1)/down*w.channels)
	filter := newResampleFilter(up, down)
	sums := make([]float64, w.channels)
	for n := 0; n*w.channels < len(out); n++ {
		filter.apply(w, n*down/up, n*down%up, sums)
		for c, s := range sums {
			out[n*w.channels+c] = float32(s)
		}
	}
	w.values, w.rate = out, rate
	return nil
}

// resampleFilter holds the taps of the phases that have been used; phase p is the position p/up after a sample.
type resampleFilter struct {
	up     int
	cutoff float64 // in cycles of the incoming rate's limit
	reach  int     // samples to each side
	taps   map[int][]float64
}

func newResampleFilter(up, down int) *resampleFilter {
	f := &resampleFilter{up: up, cutoff: resampleRolloff * min(1, float64(up)/float64(down)), taps: map[int][]float64{}}
	f.reach = int(math.Ceil(resampleCrossings / f.cutoff))
	return f
}

// apply computes the weighted sum of the samples around position at + phase/up, channel by channel.
func (f *resampleFilter) apply(w *wave, at, phase int, sums []float64) {
	taps := f.phase(phase)
	clear(sums)
	first := at - f.reach + 1
	for i := max(0, -first); i < len(taps) && first+i < w.samples(); i++ {
		x := w.values[(first+i)*w.channels:]
		for c := range sums {
			sums[c] += taps[i] * float64(x[c])
		}
	}
}

func (f *resampleFilter) phase(p int) []float64 {
	if taps, ok := f.taps[p]; ok {
		return taps
	}
	taps, total := make([]float64, 2*f.reach), 0.0
	for i := range taps {
		t := float64(p)/float64(f.up) - float64(i-f.reach+1)
		taps[i] = sinc(f.cutoff*t) * kaiser(t*f.cutoff/resampleCrossings)
		total += taps[i]
	}
	for i := range taps { // a constant stays what it is
		taps[i] /= total
	}
	f.taps[p] = taps
	return taps
}

// kaiser returns the Kaiser window at x from -1 to 1.
func kaiser(x float64) float64 {
	if x < -1 || x > 1 {
		return 0
	}
	return besselI0(resampleBeta*math.Sqrt(1-x*x)) / besselI0(resampleBeta)
}

// besselI0 is the modified Bessel function of order zero, by its power series.
func besselI0(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > sum*1e-17; k++ {
		term *= x / 2 / k * (x / 2 / k)
		sum += term
	}
	return sum
}

func greatestCommonDivisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
