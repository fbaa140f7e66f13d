package callbacks

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/kernels/cpu"
)

// DefaultProfileSteps is the number of steps that a [Profile] measures by default.
const DefaultProfileSteps = 20

// Profile shows where training spends its time. For each operation of the programs that ran on CPUs it lists the time
// in a step, the memory read and written, and the arithmetic relative to the peak of this machine. The operation that
// takes the most time comes first. It measures a number of steps of a run and prints the table, see [ProfileTable],
// when the run ends, also if it fails. With several replicas their rows are added up.
//
// Measuring takes less than a microsecond per operation. The table does not include what other models do at the same
// time. A run can have only one profile at a time.
type Profile struct {
	Base
	// First is the step to begin with, from 0 over the whole run. In the first steps the caches are cold.
	First int
	// Steps is the number of steps to measure; 0 is DefaultProfileSteps.
	Steps int
	// Output is where the table is printed; nil is standard output.
	Output io.Writer
	// Path is the file to which the table is written as JSON; "" writes none.
	Path string

	// Table holds the measurements after the run.
	Table ProfileTable

	run         context.Context // that is measured
	measurement *cpu.Measurement
	step        int // trained so far
	batch       int // the first of those under way
	begun       int // the step with which measuring began
	measured    int // steps; 0: measuring has not ended
	profiles    []cpu.ProgramProfile
}

// WantsBatches is true.
func (c *Profile) WantsBatches() bool { return true }

func (c *Profile) watch(ctx context.Context) context.Context {
	c.run = cpu.Measurable(ctx)
	return c.run
}

// OnTrainBegin checks the fields.
func (c *Profile) OnTrainBegin() error {
	if c.First < 0 || c.Steps < 0 {
		return fmt.Errorf("Profile: received First %d, Steps %d; expected no negative numbers", c.First, c.Steps)
	}
	c.step, c.measured, c.profiles, c.Table = 0, 0, nil, nil
	return nil
}

// OnTrainBatchBegin starts measuring at the first step.
func (c *Profile) OnTrainBatchBegin(batch int) error {
	c.batch = batch
	if c.measurement != nil || c.measured > 0 || c.step < c.First {
		return nil
	}
	if c.run == nil { // the hooks are called by hand
		c.run = cpu.Measurable(context.Background())
	}
	m, err := cpu.StartMeasurement(c.run)
	if err != nil {
		return fmt.Errorf("Profile: %w", err)
	}
	c.measurement, c.begun = m, c.step
	return nil
}

// OnTrainBatchEnd counts steps.
func (c *Profile) OnTrainBatchEnd(batch int, _ *Logs) error {
	c.step += batch - c.batch + 1 // several with StepsPerExecution
	n := c.Steps
	if n == 0 {
		n = DefaultProfileSteps
	}
	if c.step >= c.First+n {
		c.stop()
	}
	return nil
}

// stop ends the measurement.
func (c *Profile) stop() {
	if c.measurement != nil {
		c.profiles, c.measured = c.measurement.Stop(), c.step-c.begun
		c.measurement = nil
	}
}

// OnTrainEnd prints what was measured.
func (c *Profile) OnTrainEnd(*Logs) error {
	c.stop()
	out := c.Output
	if out == nil {
		out = os.Stdout
	}
	if c.measured == 0 {
		_, err := fmt.Fprintf(out, "Profile: nothing was measured: the run ended after %d steps, the profile begins with step %d\n", c.step, c.First)
		return err
	}
	c.Table = NewProfileTable(c.profiles, c.measured, cpu.MeasurePeak(100*time.Millisecond))
	if c.Path != "" {
		if err := atomicfile.Write(c.Path, func(w io.Writer) error { return json.NewEncoder(w).Encode(c.Table) }); err != nil {
			return fmt.Errorf("Profile: %w", err)
		}
	}
	return c.Table.Write(out)
}
