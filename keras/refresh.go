package keras

import (
	"fmt"

	"github.com/gokeras/gokeras/layers"
)

// refresh discards the programs that were made before layers changed, by EnableLora or Quantize for example. Model.mu
// is held. As long as nothing changes in the whole process, it costs one comparison.
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

// refreshSteps is refresh before training begins. If a step uses the weights of another model, the changed layers may
// belong to that. Model.mu is held.
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

// forget discards the programs.
func (c *compiled) forget() {
	c.close()
	c.train, c.test, c.ready = nil, nil, false
	c.trainResults, c.testResults = resultFunctions{}, resultFunctions{}
}

// errStale is the error for training with an optimizer that was made for other weights.
func (m *Model) errStale() error {
	return fmt.Errorf("the weights that are to be trained are others since the optimizer was made, by EnableLora or Quantize on a layer of model %q; call Compile again", m.Name())
}
