package callbacks

import (
	"fmt"
	"slices"
	"strings"
)

// Logs are named results. They are computed when first asked for, because most batches' logs are never read.
type Logs struct {
	compute func(l *Logs) error
	err     error

	names  []string
	values [][]float64
	sorted int // so many of the first names are in alphabetical order; Append puts its names after them
}

// NewLogs returns logs that compute fills with Set when they are first read. If compute is nil, the logs are empty.
func NewLogs(compute func(l *Logs) error) *Logs { return &Logs{compute: compute} }

func (l *Logs) force() {
	if l == nil || l.compute == nil {
		return
	}
	compute := l.compute
	l.compute = nil
	l.err = compute(l)
}

// Err returns the error that occurred when the values were computed.
func (l *Logs) Err() error {
	if l == nil {
		return nil
	}
	l.force()
	return l.err
}

// ready reports whether the values are computed.
func (l *Logs) ready() bool { return l == nil || l.compute == nil }

// soFar is Err without computing the values.
func (l *Logs) soFar() error {
	if l == nil || !l.ready() {
		return nil
	}
	return l.err
}

// Set adds a value or replaces it. A metric with a vector result has several numbers.
func (l *Logs) Set(name string, values ...float64) {
	if l.replace(name, values) {
		return
	}
	i, _ := slices.BinarySearch(l.names[:l.sorted], name)
	l.names = slices.Insert(l.names, i, name)
	l.values = slices.Insert(l.values, i, values)
	l.sorted++
}

// Append is Set for a callback that contributes to the logs (the learning rate): a new name comes after all others, as
// in Keras. Later callbacks, among them History and the progress bar, see it.
func (l *Logs) Append(name string, values ...float64) {
	if l.replace(name, values) {
		return
	}
	l.names = append(l.names, name)
	l.values = append(l.values, values)
}

func (l *Logs) replace(name string, values []float64) bool {
	l.force()
	i := slices.Index(l.names, name)
	if i >= 0 {
		l.values[i] = values
	}
	return i >= 0
}

// Names returns the names in alphabetical order, which is Keras's, and then those that callbacks appended.
func (l *Logs) Names() []string {
	if l == nil {
		return nil
	}
	l.force()
	return l.names
}

// Get returns a value: its only number, or the first of a vector.
func (l *Logs) Get(name string) (float64, bool) {
	v := l.Vector(name)
	if len(v) == 0 {
		return 0, false
	}
	return v[0], true
}

// Vector returns all numbers of a value, or nil.
func (l *Logs) Vector(name string) []float64 {
	if l == nil {
		return nil
	}
	l.force()
	if i := slices.Index(l.names, name); i >= 0 {
		return l.values[i]
	}
	return nil
}

// String lists the values: "loss: 0.2513, mae: 0.4021".
func (l *Logs) String() string {
	parts := make([]string, 0, len(l.Names()))
	for _, name := range l.Names() {
		if v := l.Vector(name); len(v) == 1 {
			parts = append(parts, fmt.Sprintf("%s: %.4g", name, v[0]))
		} else {
			parts = append(parts, fmt.Sprintf("%s: %.4g", name, v))
		}
	}
	return strings.Join(parts, ", ")
}
