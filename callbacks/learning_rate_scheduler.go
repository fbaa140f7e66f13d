package callbacks

import (
	"errors"
	"fmt"
)

// LearningRateScheduler sets the learning rate at the beginning of each epoch to the result of a function, and adds it
// to the logs as "learning_rate". For a rate that changes with each step, give the optimizer a schedule instead. The
// two cannot be combined.
type LearningRateScheduler struct {
	Base
	// Schedule returns the rate of an epoch, counted from 0; rate is the current one.
	Schedule func(epoch int, rate float64) float64
	// Verbose 1 prints each rate.
	Verbose int `keras:"verbose"`

	next int     // the epoch after the one whose rate is known
	rate float64 // of that epoch
}

// OnTrainBegin checks that there is a function.
func (c *LearningRateScheduler) OnTrainBegin() error {
	if c.Schedule == nil {
		return errors.New("callbacks: LearningRateScheduler: Schedule is nil; set it to a function of the epoch and the rate before it")
	}
	c.next = 0
	return nil
}

// OnEpochBegin sets the rate. An epoch that continues from a backup already has its rate.
func (c *LearningRateScheduler) OnEpochBegin(epoch int) error {
	rate := c.rate
	if epoch+1 != c.next {
		before, err := c.Model().LearningRate()
		if err != nil {
			return err
		}
		rate = c.Schedule(epoch, before)
	}
	c.next, c.rate = epoch+1, rate
	if err := c.Model().SetLearningRate(rate); err != nil {
		return fmt.Errorf("callbacks: LearningRateScheduler: %w", err)
	}
	if c.Verbose > 0 {
		fmt.Fprintf(c.Model().Output(), "\nEpoch %d: LearningRateScheduler setting learning rate to %s.\n", epoch+1, repr(rate))
	}
	return nil
}

// OnEpochEnd adds the rate to the logs.
func (c *LearningRateScheduler) OnEpochEnd(_ int, logs *Logs) error {
	rate, err := c.Model().LearningRate()
	if err != nil {
		return err
	}
	logs.Append("learning_rate", rate)
	return logs.Err()
}

// WantsBatches reports that LearningRateScheduler uses epoch hooks only.
func (c *LearningRateScheduler) WantsBatches() bool { return false }
