package callbacks

import (
	"context"
	"fmt"
	"io"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/internal/tracing"
)

// DefaultTraceSteps is the number of steps that a [Trace] records by default.
const DefaultTraceSteps = 20

// maxTraceEvents limits the memory and the file size of a trace; an event takes about 150 bytes in the file. Later
// events are counted and left out.
const maxTraceEvents = 200_000

// Trace writes a picture of the first steps of a training run for chrome://tracing or ui.perfetto.dev, in Chrome's
// trace event format: {"traceEvents": [...]} with times in microseconds. One row is for the training loop, with waiting
// for input (category "input"), steps ("step") and callbacks ("callback"). Each replica has a row with the operations
// of its program ("op", named by the fused operations, with the layer) and its collectives ("collective"). An
// all-reduce of a bucket of gradients is an asynchronous pair: it begins when the last of its gradients exists, and
// ends with the wait, when the sums are needed. Everything between overlaps with it.
//
// The first step includes compiling. Timing takes less than a microsecond per operation. Only one trace of a run can be
// recorded at a time. The file is written after the last recorded step, or when the run ends, also if it fails.
type Trace struct {
	Base
	// Path is the file to write, such as "trace.json".
	Path string
	// First is the step to begin with, from 0 over the whole run.
	First int
	// Steps is the number of steps to record; 0 is DefaultTraceSteps.
	Steps int
	// Process is the number of the process in a picture that joins the files of a distributed run: the rank of the
	// worker.
	Process int

	slot     *tracing.Slot // of the run
	recorder *tracing.Recorder
	step     int // trained so far
	batch    int // the first of those under way
	done     bool
}

// WantsBatches is true.
func (c *Trace) WantsBatches() bool { return true }

func (c *Trace) watch(ctx context.Context) context.Context {
	ctx, c.slot = tracing.Context(ctx)
	return ctx
}

// OnTrainBegin checks the fields, and starts recording if the first step is to be recorded.
func (c *Trace) OnTrainBegin() error {
	if c.Path == "" || c.First < 0 || c.Steps < 0 || c.Process < 0 {
		return fmt.Errorf("Trace: received Path %q, First %d, Steps %d, Process %d; expected a file to write and no negative numbers", c.Path, c.First, c.Steps, c.Process)
	}
	c.step, c.done = 0, false
	return c.begin()
}

// begin starts recording if the next step is the first to record.
func (c *Trace) begin() error {
	if c.recorder != nil || c.done || c.step < c.First {
		return nil
	}
	if c.slot == nil { // the hooks are called by hand
		c.slot = &tracing.Slot{}
	}
	r, err := c.slot.Start(maxTraceEvents)
	if err != nil {
		return fmt.Errorf("Trace: %w", err)
	}
	c.recorder = r
	return nil
}

// OnTrainBatchBegin records the batch.
func (c *Trace) OnTrainBatchBegin(batch int) error {
	c.batch = batch
	return nil
}

// OnTrainBatchEnd counts steps.
func (c *Trace) OnTrainBatchEnd(batch int, _ *Logs) error {
	c.step += batch - c.batch + 1 // several with StepsPerExecution
	n := c.Steps
	if n == 0 {
		n = DefaultTraceSteps
	}
	if c.step >= c.First+n {
		return c.write()
	}
	return c.begin()
}

// OnTrainEnd writes what has been recorded so far.
func (c *Trace) OnTrainEnd(*Logs) error { return c.write() }

func (c *Trace) write() error {
	r := c.recorder
	if r == nil {
		return nil
	}
	c.recorder, c.done = nil, true
	r.Stop()
	if err := atomicfile.Write(c.Path, func(w io.Writer) error { return r.Write(w, c.Process) }); err != nil {
		return fmt.Errorf("Trace: %w", err)
	}
	return nil
}
