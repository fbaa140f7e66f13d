package initializers

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gokeras/gokeras/internal/philox"
	"github.com/gokeras/gokeras/kernels"
)

// RandomNormal draws from the normal distribution with the given mean and standard deviation.
type RandomNormal struct {
	Mean   float64  `keras:"mean"`
	Stddev *float64 `keras:"stddev,default=0.05"` // nil is 0.05
	Seed   *int     `keras:"seed"`                // nil: the seed that comes with the call
}

// Initialize draws the values.
func (r RandomNormal) Initialize(into kernels.Array, seed uint64) error {
	return normal(into, r.Mean, valueOr(r.Stddev, 0.05), own(r.Seed, seed))
}

// RandomUniform draws uniformly from [MinVal, MaxVal).
type RandomUniform struct {
	MinVal *float64 `keras:"minval,default=-0.05"` // nil is -0.05
	MaxVal *float64 `keras:"maxval,default=0.05"`  // nil is 0.05
	Seed   *int     `keras:"seed"`                 // nil: the seed that comes with the call
}

// Initialize draws the values.
func (r RandomUniform) Initialize(into kernels.Array, seed uint64) error {
	low, high := valueOr(r.MinVal, -0.05), valueOr(r.MaxVal, 0.05)
	if !(low <= high) {
		return fmt.Errorf("initializers.RandomUniform: MinVal %v is above MaxVal %v; exchange them", low, high)
	}
	return uniform(into, low, high, own(r.Seed, seed))
}

// TruncatedNormal draws from the normal distribution with the given mean and standard deviation, leaving out values
// farther than two standard deviations from the mean. (The result's own standard deviation is therefore 0.8796 Stddev.)
type TruncatedNormal struct {
	Mean   float64  `keras:"mean"`
	Stddev *float64 `keras:"stddev,default=0.05"` // nil is 0.05
	Seed   *int     `keras:"seed"`                // nil: the seed that comes with the call
}

// Initialize draws the values.
func (t TruncatedNormal) Initialize(into kernels.Array, seed uint64) error {
	return truncatedNormal(into, t.Mean, valueOr(t.Stddev, 0.05), own(t.Seed, seed))
}

// own returns the initializer's seed, or else the seed of the call.
func own(seed *int, call uint64) uint64 {
	if seed == nil {
		return call
	}
	return uint64(*seed)
}

// stream separates the random numbers of initial values from those of other uses of the same seed.
const stream = 0x696e6974 // "init"

// uniform draws numbers uniform in [low, high).
func uniform(into kernels.Array, low, high float64, seed uint64) error {
	return draw(into, seed, func(n float64) float64 { return low + (high-low)*(n*0x1p-53) })
}

// normal inverts the distribution function: sqrt(2)·erfinv(u) for u uniform in (-1, 1) is normally distributed.
func normal(into kernels.Array, mean, stddev float64, seed uint64) error {
	return draw(into, seed, normally(mean, stddev))
}

func normally(mean, stddev float64) func(n float64) float64 {
	return func(n float64) float64 { return mean + stddev*math.Sqrt2*math.Erfinv(symmetric(n)) }
}

// truncatedNormal inverts the distribution function between -2 and 2 standard deviations, where u is uniform between
// -erf(sqrt(2)) and erf(sqrt(2)).
func truncatedNormal(into kernels.Array, mean, stddev float64, seed uint64) error {
	edge := math.Erf(math.Sqrt2)
	return draw(into, seed, func(n float64) float64 {
		z := math.Sqrt2 * math.Erfinv(edge*symmetric(n))
		return mean + stddev*min(max(z, -2), 2)
	})
}

// symmetric maps an integer in [0, 2^53) to (-1, 1). The result is an odd multiple of 2^-53, so it is never 0 or one of
// the ends.
func symmetric(n float64) float64 { return float64(int64(n)*2+1-1<<53) * 0x1p-53 }

// drawChunk is the number of values that a goroutine draws at a time, which takes about a millisecond.
const drawChunk = 1 << 16

// drawBlock is the number of values that are converted to the type of the weight at a time. It is even; see drawRange.
const drawBlock = 1 << 10

// draw writes f of integers uniform in [0, 2^53). Number i depends only on the seed and i, so goroutines can share the
// work.
func draw(into kernels.Array, seed uint64, f func(n float64) float64) error {
	count := into.Type.Shape.Size()
	chunks := (count + drawChunk - 1) / drawChunk
	if chunks <= 1 {
		return drawInto(into, 0, count, seed, f)
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	errs := make([]error, min(chunks, runtime.GOMAXPROCS(0)))
	for w := range errs {
		wait.Go(func() {
			for chunk := int(next.Add(1)) - 1; chunk < chunks && errs[w] == nil; chunk = int(next.Add(1)) - 1 {
				from := chunk * drawChunk
				errs[w] = drawInto(into, from, min(from+drawChunk, count), seed, f)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// drawInto draws the numbers from, from+1, ... until-1, from even.
func drawInto(into kernels.Array, from, until int, seed uint64, f func(n float64) float64) error {
	var block [drawBlock]float64
	for ; from < until; from += drawBlock {
		values := block[:min(drawBlock, until-from)]
		drawRange(values, from, seed, f)
		if err := into.SetFloat64s(from, values); err != nil {
			return err
		}
	}
	return nil
}

// drawRange draws the numbers from an even index on, two from each Philox block.
func drawRange(out []float64, from int, seed uint64, f func(n float64) float64) {
	key := [2]uint32{uint32(seed), uint32(seed >> 32)}
	for i := 0; i < len(out); i += 2 {
		block := uint64(from+i) / 2
		w := philox.Block([4]uint32{uint32(block), uint32(block >> 32), stream, 0}, key)
		out[i] = f(float64((uint64(w[1])<<32 | uint64(w[0])) >> 11))
		if i+1 < len(out) {
			out[i+1] = f(float64((uint64(w[3])<<32 | uint64(w[2])) >> 11))
		}
	}
}
