package callbacks

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// EarlyStopping ends training when a value has stopped improving.
//
// After each epoch from StartFromEpoch on, a counter goes up by one. The value improves when it is better than the best
// so far by more than MinDelta; the first value always does. An improvement becomes the best value. It resets the
// counter to 0 if it is also better than Baseline, or if there is no Baseline. Without an improvement, training stops
// once the counter has reached Patience. An epoch whose logs lack the value does not count, and a warning is printed
// once.
//
// With RestoreBestWeights the weights of the best epoch are restored at the end of every run, whether it was stopped
// early or not. A run that fails keeps the weights of the last step.
type EarlyStopping struct {
	Base
	// Monitor is the name of the value to monitor; "" is "val_loss".
	Monitor string `keras:"monitor,default=val_loss"`
	// MinDelta is the smallest change that counts as an improvement; its sign does not matter.
	MinDelta float64 `keras:"min_delta"`
	// Patience is the number of epochs without an improvement after which training stops.
	Patience int `keras:"patience"`
	// Verbose 1 prints when training is stopped and weights are restored.
	Verbose int `keras:"verbose"`
	// Mode says what is better: "min", "max", or "auto" (or ""), which depends on the metric.
	Mode MonitorMode `keras:"mode,default=auto"`
	// Baseline is a value that must be beaten within Patience epochs; nil for none.
	Baseline *float64 `keras:"baseline"`
	// RestoreBestWeights restores the weights of the best epoch at the end.
	RestoreBestWeights bool `keras:"restore_best_weights"`
	// StartFromEpoch is the first epoch, from 0, that counts.
	StartFromEpoch int `keras:"start_from_epoch"`

	monitor      monitor
	wait         int
	stoppedEpoch int
	bestEpoch    int
	bestWeights  []kernels.Array
}

// OnTrainBegin resets the state of the previous run.
func (c *EarlyStopping) OnTrainBegin() error {
	c.monitor.start("EarlyStopping", c.Monitor, string(c.Mode), c.MinDelta, c.Model())
	c.wait, c.stoppedEpoch, c.bestEpoch, c.bestWeights = 0, 0, 0, nil
	return nil
}

// OnEpochEnd checks the value.
func (c *EarlyStopping) OnEpochEnd(epoch int, logs *Logs) error {
	if err := c.monitor.resolve(c.Model(), logs); err != nil {
		return err
	}
	current, ok, err := c.monitor.value(logs)
	if err != nil {
		return err
	}
	if !ok {
		c.monitor.warn(c.Model(), "Early stopping conditioned on metric `%s` which is not available. Available metrics are: %s", c.monitor.name, available(logs))
	}
	if !ok || epoch < c.StartFromEpoch {
		return nil
	}
	c.wait++
	if c.monitor.improvesBest(current) {
		c.monitor.keep(current)
		c.bestEpoch = epoch
		if c.RestoreBestWeights {
			if c.bestWeights, err = c.Model().GetWeights(); err != nil {
				return err
			}
		}
		if c.Baseline == nil || c.monitor.improves(current, *c.Baseline) {
			c.wait = 0
		}
		return nil
	}
	if c.wait >= c.Patience {
		c.stoppedEpoch = epoch
		c.Model().Stop()
	}
	return nil
}

// OnTrainEnd restores the best weights.
func (c *EarlyStopping) OnTrainEnd(*Logs) error {
	if c.Params().Err != nil {
		return nil // a backup may be made yet, which needs the weights
	}
	best := c.bestWeights
	c.bestWeights = nil
	if c.stoppedEpoch > 0 && c.Verbose > 0 {
		fmt.Fprintf(c.Model().Output(), "Epoch %d: early stopping\n", c.stoppedEpoch+1)
	}
	if best == nil {
		return nil
	}
	if c.Verbose > 0 {
		fmt.Fprintf(c.Model().Output(), "Restoring model weights from the end of the best epoch: %d.\n", c.bestEpoch+1)
	}
	return c.Model().SetWeights(best)
}

// WantsBatches reports that EarlyStopping uses epoch hooks only.
func (c *EarlyStopping) WantsBatches() bool { return false }

// StoppedEpoch is the epoch, from 0, after which the last run was stopped, or 0 if it was not.
func (c *EarlyStopping) StoppedEpoch() int { return c.stoppedEpoch }

// BestEpoch is the epoch, from 0, with the best value of the last run.
func (c *EarlyStopping) BestEpoch() int { return c.bestEpoch }

// Best is the best value of the last run; false if none was seen.
func (c *EarlyStopping) Best() (float64, bool) { return c.monitor.best, c.monitor.hasBest }
