package keras

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/layers"
)

// frozenLayers returns the layers of the model that are set to be not trainable.
func (m *Model) frozenLayers() map[any]bool {
	frozen := map[any]bool{}
	layers.Walk(m, func(l layers.Layer) {
		if t, ok := l.(interface{ Trainable() bool }); ok && !t.Trainable() {
			frozen[l] = true
		}
	})
	return frozen
}

// fixFrozen fixes which layers are trained by all steps until the model is compiled again, whenever their programs are
// made: a batch of another size must be trained like those before. Model.mu is held.
func (m *Model) fixFrozen() { m.compiled.frozen = m.frozenLayers() }

// prepareTraining creates the optimizer's variables and fixes what is trained, at the first training step after
// Compile. A model that was read from a file has had these variables since then; weights that were frozen in the
// meantime keep theirs.
func (m *Model) prepareTraining() error {
	if err := m.prepareOptimizer(); err != nil {
		return err
	}
	c := m.compiled
	if c.frozen != nil || c.trainStep != nil {
		return nil
	}
	now := append(distribute.Variables{}, m.TrainableVariables()...)
	for _, v := range now {
		if !slices.Contains(c.trainable, v) {
			return fmt.Errorf("the weight %s of model %q was frozen when the optimizer got its variables, from a file or from SetOptimizerArrays; call Compile again to train it", v.Path(), m.Name())
		}
	}
	m.mu.Lock() // predictions may be checking whether to discard steps
	defer m.mu.Unlock()
	c.trainable = now
	for i := range c.optimized {
		c.optimized[i].updated = now
	}
	m.fixFrozen()
	return nil
}

// trains reports whether steps train the layer's own weights.
func (c *compiled) trains(l layers.Layer) bool {
	if c == nil || c.frozen == nil {
		t, ok := l.(interface{ Trainable() bool })
		return !ok || t.Trainable()
	}
	return !c.frozen[l]
}

// trainedVariables returns the weights that steps train.
func (m *Model) trainedVariables() distribute.Variables {
	if c := m.compiled; c != nil && c.frozen != nil && c.trainStep == nil {
		return c.trainable
	}
	return m.TrainableVariables()
}

// forgetSteps discards steps that were made while other layers were frozen, by an evaluation before the first training
// step. Model.mu is held.
func (m *Model) forgetSteps() {
	if c := m.compiled; c != nil && c.frozen == nil && c.train != nil && !maps.Equal(c.traced, m.frozenLayers()) {
		c.close()
		c.train, c.test = nil, nil
		c.trainResults, c.testResults = resultFunctions{}, resultFunctions{}
	}
}
