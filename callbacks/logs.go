package callbacks

import (
	"slices"
	"strings"
)

// Logs are named results. They are worked out when first asked for, because most batches' logs are never looked at.
type Logs struct {
	compute func(l *Logs) error
	err     error

	names  []string
	values [][]float64
}

// NewLogs returns logs that compute fills with Set when they are first read; nil is empty logs.
func NewLogs(compute func(l *Logs) error) *Logs { return &Logs{compute: compute} }

func (l *Logs) force() {
	if l == nil || l.compute == nil {
		return
	}
	compute := l.compute
	l.compute = nil
	l.err = compute(l)
}

// Err returns what went wrong when the values were worked out.
func (l *Logs) Err() error {
	if l == nil {
		return nil
	}
	l.force()
	return l.err
}

// Set adds a value or replaces it. A metric with a vector result has several numbers.
func (l *Logs) Set(name string, values ...float64) {
	l.force()
	if i := slices.Index(l.names, name); i >= 0 {
		l.values[i] = values
		return
	}
	i, _ := slices.BinarySearch(l.names, name)
	l.names = slices.Insert(l.names, i, name)
	l.values = slices.Insert(l.values, i, values)
}

// Names returns the names in alphabetical order, which is Keras's.
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

// String lists the names, for error messages.
func (l *Logs) String() string { return strings.Join(l.Names(), ", ") }
