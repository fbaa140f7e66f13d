package keras

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/internal/servers"
)

// facts lists, line by line, what the processes of a Fit on parameter servers must have in common. Each worker computes
// with its own settings, and nothing that it sends would reveal another batch size, loss or activation. With rounds,
// all count the same batches, so their data must be equal too.
func (t *trainer) facts(rounds bool) string {
	m, c, run := t.m, t.c, t.runOf()
	lines := []string{fmt.Sprintf("model %q, seed %d", m.Name(), m.seed), fmt.Sprintf("%d steps an epoch", c.steps), fmt.Sprintf("%d epochs", c.epochs)}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if l, ok := t.source.(*loaderSource); ok {
		add("batches of %d", l.batchSize)
		add("%s", c.order())
		if rounds {
			add("%d examples, checksum %016x", run.Examples, run.Sample)
		}
	}
	if len(c.classWeight) > 0 {
		add("class weights %v", c.classWeight)
	}
	m.addFacts(add)
	return servers.Facts(lines)
}

// order describes the order of data in memory.
func (c *fitConfig) order() string {
	text := "shuffle false"
	if c.shuffle {
		text = "shuffle true"
	}
	if c.shuffleInside {
		text += " inside batches"
	}
	if c.seed != nil {
		text += fmt.Sprintf(" with seed %d", *c.seed)
	}
	return text
}

// addFacts adds the facts about the model.
func (m *Model) addFacts(add func(format string, args ...any)) {
	c := &m.compiled.config
	add("policy %s", m.policy.Name)
	add("optimizer %s", servers.Fact(m.compiled.optimizer))
	add("loss %s", servers.Fact(c.Loss))
	add("loss weights %v", c.LossWeights)
	m.addLayers(add)
	for _, v := range m.Weights() {
		add("weight %s %v, trainable %v", v.Path(), v.Type(), v.Trainable())
	}
}

func (m *Model) addLayers(add func(format string, args ...any)) {
	for _, l := range m.Layers() {
		if inner, ok := l.(*Model); ok {
			inner.addLayers(add)
			continue
		}
		add("layer %s", servers.Fact(l))
	}
}
