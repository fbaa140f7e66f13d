package callbacks

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// SwapEMAWeights evaluates and predicts with the optimizer's moving averages instead of the weights (Polyak averaging),
// and puts the weights back afterwards. The optimizer must keep averages (UseEMA). Nothing else may use the model while
// Predict runs with this callback.
//
// With SwapOnEpoch the model also holds the averages from the end of each epoch to the beginning of the next, for
// callbacks that come after this one, such as [ModelCheckpoint]. Put [BackupAndRestore] before it, so that a backup
// holds the weights.
//
// Two things differ from Keras, which has defects there: after Predict the weights are put back (Keras leaves the
// averages in the model), and a run with SwapOnEpoch that stops early ends with the averages, as every run with UseEMA
// does (Keras ends with the weights of the last step).
type SwapEMAWeights struct {
	Base
	// SwapOnEpoch keeps the averages in the model between epochs.
	SwapOnEpoch bool `keras:"swap_on_epoch"`

	swapped bool            // weights and averages are exchanged
	held    []kernels.Array // the weights, while the averages are in the model between epochs
}

// OnTrainBegin resets the state of the previous run.
func (c *SwapEMAWeights) OnTrainBegin() error {
	c.swapped, c.held = false, nil
	return nil
}

// OnEpochBegin puts the weights back.
func (c *SwapEMAWeights) OnEpochBegin(int) error {
	if c.held == nil {
		return nil
	}
	weights := c.held
	c.held = nil
	return c.wrap(c.Model().SetWeights(weights))
}

// OnEpochEnd copies the averages into the model, with SwapOnEpoch. The optimizer keeps its averages, because it copies
// them into the weights when training ends, which may be after any epoch.
func (c *SwapEMAWeights) OnEpochEnd(int, *Logs) error {
	if !c.SwapOnEpoch || c.held != nil {
		return nil
	}
	weights, err := c.Model().GetWeights()
	if err != nil {
		return c.wrap(err)
	}
	if err := c.Model().SwapEMA(); err != nil {
		return c.wrap(err)
	}
	averages, err := c.Model().GetWeights()
	if err != nil {
		return c.wrap(err)
	}
	if err := c.Model().SwapEMA(); err != nil {
		return c.wrap(err)
	}
	if err := c.Model().SetWeights(averages); err != nil {
		return c.wrap(err)
	}
	c.held = weights
	return nil
}

// OnTrainEnd drops the saved weights. By now the optimizer has copied the averages into the model.
func (c *SwapEMAWeights) OnTrainEnd(*Logs) error {
	if c.Params().Err == nil { // else a backup may be made yet
		c.held = nil
	}
	return nil
}

func (c *SwapEMAWeights) exchange(on bool) error {
	if c.swapped == on || c.held != nil {
		return nil
	}
	if err := c.Model().SwapEMA(); err != nil {
		return c.wrap(err)
	}
	c.swapped = on
	return nil
}

func (c *SwapEMAWeights) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("callbacks: SwapEMAWeights: %w", err)
}

// OnTestBegin puts the averages in.
func (c *SwapEMAWeights) OnTestBegin() error { return c.exchange(true) }

// OnTestEnd puts the weights back.
func (c *SwapEMAWeights) OnTestEnd(*Logs) error { return c.exchange(false) }

// OnPredictBegin puts the averages in.
func (c *SwapEMAWeights) OnPredictBegin() error { return c.exchange(true) }

// OnPredictEnd puts the weights back.
func (c *SwapEMAWeights) OnPredictEnd() error { return c.exchange(false) }

// WantsBatches reports that SwapEMAWeights needs no batches.
func (c *SwapEMAWeights) WantsBatches() bool { return false }
