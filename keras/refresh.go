package keras

import (
	"fmt"

	"github.com/gokeras/gokeras/layers"
)

// refresh lets go of the programs that were made before layers changed, by EnableLora or Quantize. Model.mu is held.
// While nothing changes in the whole process it is one comparison.
func (m *Model) refresh() {
	now := layers.Revision()
	if now == m.revision {
		return
	}
	m.revision = now
	m.forgetSteps()
	changes := layers.RevisionOf(m)
	if changes == m.changes {
		return
	}
	m.changes = changes
	m.forgetPredictions()
	if c := m.compiled; c != nil {
		c.forget()
		c.stale = c.trainable != nil
	}
}

// refreshSteps is refresh before training begins. Where a step uses the weights of another model, the layers that have
// changed may be those. Model.mu is held.
func (m *Model) refreshSteps() {
	m.refresh()
	now := layers.Revision()
	if c := m.compiled; c != nil && c.revision != now {
		if c.elsewhere.Load() {
			c.forget()
		}
		c.revision = now
	}
}

// forget lets go of the programs.
func (c *compiled) forget() {
	c.close()
	c.train, c.test, c.ready = nil, nil, false
	c.trainResults, c.testResults = resultFunctions{}, resultFunctions{}
}

// errStale is the mistake of training with an optimizer that was made for other weights.
func (m *Model) errStale() error {
	return fmt.Errorf("the weights that are to be trained are others since the optimizer was made, by EnableLora or Quantize on a layer of model %q; call Compile again", m.Name())
}
