package keras

import "fmt"

// Iterations returns how often the optimizer has updated the weights: once per step, or once in
// GradientAccumulationSteps steps.
func (m *Model) Iterations() (int64, error) {
	if m.compiled == nil {
		return 0, m.errNotCompiled("Iterations")
	}
	o, err := m.compiled.leading()
	if err != nil {
		return 0, err
	}
	counter, ok := o.(interface{ Updates() (int64, error) })
	if !ok {
		return 0, fmt.Errorf("keras: Iterations: %T does not count its steps", o)
	}
	m.values.RLock()
	defer m.values.RUnlock()
	n, err := counter.Updates()
	if err != nil {
		return 0, prefixed("Iterations", err)
	}
	return n, nil
}

// hasDictOutputs reports whether the model returns its outputs by name.
func (m *Model) hasDictOutputs() bool {
	f, ok := m.topology.(*functional)
	return ok && f.out.names != nil
}
