package keras

import (
	"fmt"
	"reflect"
	"strings"
)

// mostFacts bounds the facts, in bytes: those of thousands of layers are told.
const mostFacts = 256 << 10

// facts says line by line what the processes of a Fit on parameter servers must have in common: workers compute by
// what they are given themselves, and nothing that they send would show another batch size, loss or activation. In
// rounds all count the same batches, so their data are the same.
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
	text := strings.Join(lines, "\n")
	return text[:min(len(text), mostFacts)]
}

// order says in which order data in memory come.
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

// addFacts adds what is of the model.
func (m *Model) addFacts(add func(format string, args ...any)) {
	c := &m.compiled.config
	add("policy %s", m.policy.Name)
	add("optimizer %s", appendFact(nil, reflect.ValueOf(m.compiled.optimizer), factDepth))
	add("loss %s", appendFact(nil, reflect.ValueOf(c.Loss), factDepth))
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
		add("layer %s", appendFact(nil, reflect.ValueOf(l), factDepth))
	}
}

// factDepth is how deep values inside of values are told.
const factDepth = 4

// appendFact adds the configuration of a value: its exported fields. What a file would have of it would link all that
// writes files.
func appendFact(b []byte, v reflect.Value, depth int) []byte {
	switch k := v.Kind(); {
	case (k == reflect.Pointer || k == reflect.Interface) && !v.IsNil():
		return appendFact(b, v.Elem(), depth)
	case k == reflect.Struct && depth > 0:
		b = append(append(b, v.Type().String()...), '{')
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				b = append(appendFact(append(append(b, f.Name...), ':'), v.Field(i), depth-1), ' ')
			}
		}
		return append(b, '}')
	case k == reflect.Slice && depth > 0:
		for i := range min(v.Len(), 64) {
			b = append(appendFact(b, v.Index(i), depth-1), ' ')
		}
		return fmt.Appendf(b, "(%d)", v.Len())
	case k >= reflect.Bool && k <= reflect.Complex128 || k == reflect.String:
		return fmt.Appendf(b, "%v", v)
	case k == reflect.Invalid:
		return append(b, "nil"...)
	}
	return append(b, v.Type().String()...)
}

// factsDiffer is an error where two processes do not have the facts in common.
func factsDiffer(own, other, who string) error {
	if own == other {
		return nil
	}
	a, b := strings.Split(own, "\n"), strings.Split(other, "\n")
	i := 0
	for i < len(a)-1 && i < len(b)-1 && a[i] == b[i] {
		i++
	}
	here, there := parting(a[i], b[i])
	return fmt.Errorf("this process has %q, and %s has %q; run the same program, with the same options and data, everywhere", here, who, there)
}

// parting cuts two long lines to what is around the first difference.
func parting(a, b string) (string, string) {
	const before, most = 60, 160
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	cut := func(s string) string {
		from := 0
		if len(s) > most && at > before {
			from = at - before
		}
		out := s[from:min(len(s), from+most)]
		if from > 0 {
			first, _, _ := strings.Cut(s, " ")
			out = first + " ..." + out
		}
		if from+most < len(s) {
			out += "..."
		}
		return out
	}
	return cut(a), cut(b)
}
