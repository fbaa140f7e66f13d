package callbacks

import "fmt"

// ReduceLROnPlateau lowers the learning rate when a value has stopped improving.
//
// After each epoch: during a cooldown, the cooldown counts down and the wait starts over. A value better than the best
// by more than MinDelta becomes the best, and the wait starts over. Otherwise, outside of a cooldown, the wait goes up
// by one, and when it has reached Patience and the rate is above MinLR, the rate becomes
//
//	max(rate * Factor, MinLR)
//
// and a cooldown begins. The rate of each epoch, before a reduction, is added to the logs as "learning_rate". If an
// epoch lacks the value, a warning is printed once. If a schedule drives the optimizer's rate, the first reduction is
// an error.
type ReduceLROnPlateau struct {
	Base
	// Monitor is the name of the value to monitor; "" is "val_loss".
	Monitor string `keras:"monitor,default=val_loss"`
	// Factor multiplies the rate; it must be below 1. 0 stands for the default of 0.1; a negative factor reduces the
	// rate to MinLR at once.
	Factor float64 `keras:"factor,default=0.1"`
	// Patience is the number of epochs without an improvement before a reduction; 0 stands for the default of 10.
	// Keras's 0 is the same as 1.
	Patience int `keras:"patience,default=10"`
	// Verbose 1 prints each reduction.
	Verbose int `keras:"verbose"`
	// Mode says what is better: "min", "max", or "auto" (or ""), which depends on the metric.
	Mode MonitorMode `keras:"mode,default=auto"`
	// MinDelta is the smallest change that counts as an improvement; nil stands for 1e-4. Its sign does not matter.
	MinDelta *float64 `keras:"min_delta,default=0.0001"`
	// Cooldown is the number of epochs to wait after a reduction before monitoring resumes.
	Cooldown int `keras:"cooldown"`
	// MinLR is the lowest rate.
	MinLR float64 `keras:"min_lr"`

	monitor  monitor
	wait     int
	cooldown int
}

// OnTrainBegin resets the state of the previous run.
func (c *ReduceLROnPlateau) OnTrainBegin() error {
	if !(c.Factor < 1) {
		return fmt.Errorf("callbacks: ReduceLROnPlateau does not support a factor >= 1.0, received Factor %v; use one below 1", c.Factor)
	}
	delta := 1e-4
	if c.MinDelta != nil {
		delta = *c.MinDelta
	}
	c.monitor.start("ReduceLROnPlateau", c.Monitor, string(c.Mode), delta, c.Model())
	c.wait, c.cooldown = 0, 0
	return nil
}

// OnEpochEnd checks the value.
func (c *ReduceLROnPlateau) OnEpochEnd(epoch int, logs *Logs) error {
	if err := c.monitor.resolve(c.Model(), logs); err != nil {
		return err
	}
	rate, err := c.Model().LearningRate()
	if err != nil {
		return err
	}
	logs.Append("learning_rate", rate)
	current, ok, err := c.monitor.value(logs)
	if err != nil {
		return err
	}
	if !ok {
		c.monitor.warn(c.Model(), "Learning rate reduction is conditioned on metric `%s` which is not available. Available metrics are: %s.", c.monitor.name, available(logs))
		return nil
	}
	if c.cooldown > 0 {
		c.cooldown--
		c.wait = 0
	}
	if c.monitor.improvesBest(current) {
		c.monitor.keep(current)
		c.wait = 0
		return nil
	}
	if c.cooldown > 0 {
		return nil
	}
	c.wait++
	patience := c.Patience
	if patience == 0 {
		patience = 10
	}
	if c.wait < patience || !(float32(rate) > float32(c.MinLR)) {
		return nil
	}
	c.cooldown, c.wait = c.Cooldown, 0
	return c.reduce(epoch, rate)
}

func (c *ReduceLROnPlateau) reduce(epoch int, rate float64) error {
	factor := c.Factor
	if factor == 0 {
		factor = 0.1
	}
	rate = max(rate*factor, c.MinLR)
	if err := c.Model().SetLearningRate(rate); err != nil {
		return fmt.Errorf("callbacks: ReduceLROnPlateau: %w", err)
	}
	if c.Verbose > 0 {
		fmt.Fprintf(c.Model().Output(), "\nEpoch %d: ReduceLROnPlateau reducing learning rate to %s.\n", epoch+1, repr(rate))
	}
	return nil
}

// WantsBatches reports that ReduceLROnPlateau uses epoch hooks only.
func (c *ReduceLROnPlateau) WantsBatches() bool { return false }
