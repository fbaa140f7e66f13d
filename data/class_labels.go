package data

import (
	"fmt"
	"slices"
)

// ClassLabels maps class names to numbers and back, so that a model can be trained with names, and its predictions read
// as names.
//
//	labels := data.ClassLabelsOf(names)
//	y, err := labels.Encode(names)
//	_, err = model.Fit(ctx, data.Arrays(x, y))
//	predictions, err := model.Predict(ctx, data.Arrays(x, nil))
//	answers, err := labels.Decode(predictions)
type ClassLabels struct {
	names  []string
	number map[string]int32
}

// NewClassLabels returns labels in the given order: the first is class 0.
func NewClassLabels(names ...string) (*ClassLabels, error) {
	l := &ClassLabels{names: slices.Clone(names), number: make(map[string]int32, len(names))}
	for i, name := range names {
		if first, twice := l.number[name]; twice {
			return nil, fmt.Errorf("data: NewClassLabels: %q is class %d and class %d; give each name once", name, first, i)
		}
		l.number[name] = int32(i)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("data: NewClassLabels: there are no names; give at least one")
	}
	return l, nil
}

// ClassLabelsOf returns the labels for the distinct names among values, in alphabetical order, as Keras numbers the
// folders of a dataset.
func ClassLabelsOf(values []string) *ClassLabels {
	names := slices.Clone(values)
	slices.Sort(names)
	names = slices.Compact(names)
	l := &ClassLabels{names: names, number: make(map[string]int32, len(names))}
	for i, name := range names {
		l.number[name] = int32(i)
	}
	return l
}

// Names lists the names by class.
func (l *ClassLabels) Names() []string { return slices.Clone(l.names) }

// Len returns the number of classes.
func (l *ClassLabels) Len() int { return len(l.names) }

// Encode returns the class of each name.
func (l *ClassLabels) Encode(values []string) ([]int32, error) {
	out := make([]int32, len(values))
	for i, name := range values {
		class, known := l.number[name]
		if !known {
			return nil, fmt.Errorf("data: ClassLabels.Encode: value %d is %q, which is none of the %d labels", i, name, len(l.names))
		}
		out[i] = class
	}
	return out, nil
}

// Decode returns the name of the most probable class of each row of predictions (examples, classes), the first one in a
// tie. With two labels predictions may have shape (examples) or (examples, 1): a value above 0.5 means the second
// label.
func (l *ClassLabels) Decode(predictions Array) ([]string, error) {
	rows, err := Rows[float64](predictions)
	if err != nil {
		return nil, fmt.Errorf("data: ClassLabels.Decode: %w", err)
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		class := 0
		switch {
		case len(row) == 1 && len(l.names) == 2:
			if row[0] > 0.5 {
				class = 1
			}
		case len(row) == len(l.names):
			for k, v := range row {
				if v > row[class] {
					class = k
				}
			}
		default:
			return nil, fmt.Errorf("data: ClassLabels.Decode: the predictions have %d numbers for each example, expected one for each of the %d labels", len(row), len(l.names))
		}
		out[i] = l.names[class]
	}
	return out, nil
}
