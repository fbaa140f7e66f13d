package data

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/gokeras/gokeras/internal/philox"
)

// TimeseriesOption is an option of TimeseriesDatasetFromArray.
type TimeseriesOption interface{ applyTimeseries(*timeseriesConfig) }

type timeseriesConfig struct {
	stride, rate, batchSize int
	shuffle                 bool
	seed                    uint64
	start, end              int
}

type timeseriesOption func(*timeseriesConfig)

func (f timeseriesOption) applyTimeseries(c *timeseriesConfig) { f(c) }

// SequenceStride sets the distance between the starts of successive windows; the default is 1.
func SequenceStride(n int) TimeseriesOption {
	return timeseriesOption(func(c *timeseriesConfig) { c.stride = n })
}

// SamplingRate sets the distance between successive time steps in a window; the default is 1.
func SamplingRate(n int) TimeseriesOption {
	return timeseriesOption(func(c *timeseriesConfig) { c.rate = n })
}

// TimeseriesBatchSize sets the number of windows in a batch; the default is 128, and 0 yields the windows one by one.
func TimeseriesBatchSize(n int) TimeseriesOption {
	return timeseriesOption(func(c *timeseriesConfig) { c.batchSize = n })
}

// ShuffleWindows gives the windows a new order in each pass, drawn from the Philox generator with key seed, stream
// number epoch.
func ShuffleWindows(seed uint64) TimeseriesOption {
	return timeseriesOption(func(c *timeseriesConfig) { c.shuffle, c.seed = true, seed })
}

// TimeRange uses only the time steps start, ..., end-1 of data and targets; end = 0 means to the end.
func TimeRange(start, end int) TimeseriesOption {
	return timeseriesOption(func(c *timeseriesConfig) { c.start, c.end = start, end })
}

// TimeseriesDatasetFromArray makes a dataset of sliding windows over a time series, Keras's
// timeseries_dataset_from_array.
//
// data has shape (timesteps, ...), and window i consists of its steps
//
//	s_i, s_i + SamplingRate, ..., s_i + (sequenceLength-1)*SamplingRate    with s_i = start + i*SequenceStride
//
// as long as all of them are in range and, if there are targets, targets[s_i] exists. X has shape (batch,
// sequenceLength, ...); Y holds targets[s_i], or nothing if targets is nil.
func TimeseriesDatasetFromArray(data, targets any, sequenceLength int, options ...TimeseriesOption) *Pipeline {
	c := timeseriesConfig{stride: 1, rate: 1, batchSize: 128}
	for _, o := range options {
		if o != nil {
			o.applyTimeseries(&c)
		}
	}
	p := &Pipeline{stage: "TimeseriesDatasetFromArray"}
	series, err := numericArray(data, "data")
	if err != nil {
		return p.fail("%w", err)
	}
	var labels Array
	if targets != nil {
		if labels, err = numericArray(targets, "targets"); err != nil {
			return p.fail("%w", err)
		}
	}
	n, err := c.windows(series, labels, sequenceLength)
	if err != nil {
		return p.fail("%w", err)
	}
	p.size = func() (int, bool) { return n, true }
	p.pass = func(_ context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			if c.shuffle {
				philox.New(c.seed, uint64(epoch)).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
			}
			for _, i := range order {
				s := c.start + i*c.stride
				element := Batch{X: List(window(series, s, sequenceLength, c.rate))}
				if !labels.IsZero() {
					element.Y = List(labels.Row(s))
				}
				if !yield(element, nil) {
					return
				}
			}
		}
	}
	if c.batchSize == 0 {
		return p
	}
	return p.Batch(c.batchSize, false)
}

// windows checks the arguments and counts the windows.
func (c *timeseriesConfig) windows(series, labels Array, length int) (int, error) {
	if series.Rank() == 0 {
		return 0, fmt.Errorf("data is a scalar; expected a leading axis of time steps")
	}
	steps := series.Shape()[0]
	if c.end == 0 {
		c.end = steps
	}
	switch {
	case length < 1:
		return 0, fmt.Errorf("sequence length %d; expected at least 1", length)
	case c.stride < 1 || c.rate < 1:
		return 0, fmt.Errorf("SequenceStride %d and SamplingRate %d; expected at least 1", c.stride, c.rate)
	case c.batchSize < 0:
		return 0, fmt.Errorf("TimeseriesBatchSize %d; expected at least 1, or 0 for single windows", c.batchSize)
	case c.start < 0 || c.end > steps || c.start >= c.end:
		return 0, fmt.Errorf("TimeRange(%d, %d) of %d time steps; expected 0 <= start < end <= %d", c.start, c.end, steps, steps)
	case length-1 > (c.end-c.start-1)/c.rate:
		return 0, fmt.Errorf("a window of %d steps at SamplingRate %d does not fit into %d time steps", length, c.rate, c.end-c.start)
	}
	starts := c.end - c.start - (length-1)*c.rate
	if !labels.IsZero() {
		if labels.Rank() == 0 {
			return 0, fmt.Errorf("targets is a scalar; expected a leading axis of time steps")
		}
		starts = min(starts, labels.Shape()[0]-c.start)
		if starts < 1 {
			return 0, fmt.Errorf("targets has %d time steps, none from start %d on", labels.Shape()[0], c.start)
		}
	}
	return (starts + c.stride - 1) / c.stride, nil
}

// window copies steps s, s+rate, ... of a series.
func window(series Array, s, length, rate int) Array {
	shape := slices.Clone(series.Shape())
	row := len(series.Data) / shape[0]
	shape[0] = length
	if rate == 1 {
		return series.Slice(s, s+length)
	}
	out := newArray(series.DType(), shape...)
	if row == 0 {
		return out
	}
	for i := range length {
		at := (s + i*rate) * row
		copy(out.Data[i*row:(i+1)*row], series.Data[at:at+row])
	}
	return out
}
