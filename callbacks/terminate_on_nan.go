package callbacks

import (
	"fmt"
	"math"
)

// TerminateOnNaN ends training when the loss, the running mean of the epoch, is NaN or infinite after a batch. It reads
// the loss after every batch, which costs a little time.
type TerminateOnNaN struct {
	Base
	// RaiseError makes Fit fail with an error. By default training stops as if it had finished.
	RaiseError bool `keras:"raise_error"`
}

// OnTrainBatchEnd checks the loss.
func (c *TerminateOnNaN) OnTrainBatchEnd(batch int, logs *Logs) error {
	loss, ok := logs.Get("loss")
	if err := logs.Err(); err != nil || !ok {
		return err
	}
	if !math.IsNaN(loss) && !math.IsInf(loss, 0) {
		return nil
	}
	if c.RaiseError {
		return fmt.Errorf("callbacks: TerminateOnNaN: NaN or Inf loss encountered at batch %d, the loss is %s; lower the learning rate, clip gradients, or look for NaN in the data", batch, repr(loss))
	}
	fmt.Fprintf(c.Model().Output(), "Batch %d: Invalid loss, terminating training\n", batch)
	c.Model().Stop()
	return nil
}

// WantsBatches reports that TerminateOnNaN checks each batch.
func (c *TerminateOnNaN) WantsBatches() bool { return true }
