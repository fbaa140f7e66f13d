package protocol

import (
	"errors"
	"fmt"
	"sync"
)

// Computation replaces all values of a table, row-major, by the results of a constraint's program. If it fails, it
// changes nothing.
type Computation func(values []float32) error

// ComputationOpener makes the computation of a program, which Constraint.Program is the text of and Constraint.Hash the
// hash, for values of a shape. It refuses a program of other values.
type ComputationOpener func(program, hash string, shape []int) (Computation, error)

var computations struct {
	sync.Mutex
	open ComputationOpener
}

// RegisterComputation sets the function that opens the programs of constraints. It is called from init.
func RegisterComputation(open ComputationOpener) {
	computations.Lock()
	defer computations.Unlock()
	computations.open = open
}

func openComputation(c *Constraint, shape []int) (Computation, error) {
	computations.Lock()
	open := computations.open
	computations.Unlock()
	if open == nil {
		return nil, errors.New("this program cannot run the programs of constraints")
	}
	return open(c.Program, c.Hash, shape)
}

// compute applies the constraint's program. If it fails, the server has not made the update that it was told of.
func (t *Table) compute() {
	if t.computation == nil {
		lengths, err := t.lengths()
		if err == nil {
			t.computation, err = openComputation(&t.Constraint, lengths)
		}
		if err != nil {
			t.fault = fmt.Errorf("parameterserver: table %s: its constraint: %w", t.Name, err)
			return
		}
	}
	if err := t.computation(t.values); err != nil {
		t.fault = fmt.Errorf("parameterserver: table %s: its constraint failed: %w", t.Name, err)
	}
}
