package keras

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/layers"
)

// frozenLayers are the layers of the model that say that they are not trained.
func (m *Model) frozenLayers() map[any]bool {
	frozen := map[any]bool{}
	layers.Walk(m, func(l layers.Layer) {
		if t, ok := l.(interface{ Trainable() bool }); ok && !t.Trainable() {
			frozen[l] = true
		}
	})
	return frozen
}

// fixFrozen makes what is trained hold for all steps until the model is compiled again, whenever their programs are
// made: a batch of another size must not be trained otherwise than the ones before. Model.mu is held.
func (m *Model) fixFrozen() { m.compiled.frozen = m.frozenLayers() }

// prepareTraining makes the optimizer's variables and fixes what is trained, at the first training step after Compile.
// A model that was read from a file has had the variables since: weights that were frozen in between keep theirs.
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
	m.mu.Lock() // predictions ask meanwhile whether steps are to be forgotten
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

// trainedVariables are the weights that steps train.
func (m *Model) trainedVariables() distribute.Variables {
	if c := m.compiled; c != nil && c.frozen != nil && c.trainStep == nil {
		return c.trainable
	}
	return m.TrainableVariables()
}

// forgetSteps lets go of steps that were made while other layers were frozen, by an evaluation before the first step of
// training. Model.mu is held.
func (m *Model) forgetSteps() {
	if c := m.compiled; c != nil && c.frozen == nil && c.train != nil && !maps.Equal(c.traced, m.frozenLayers()) {
		c.close()
		c.train, c.test = nil, nil
		c.trainResults, c.testResults = resultFunctions{}, resultFunctions{}
	}
}
