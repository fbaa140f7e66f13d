package main

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// object is a JSON object whose members keep their order. Numbers are written as Python's json module does, with all
// digits, and with NaN and Infinity, which JSON itself does not have.
type object struct {
	names, values []string
}

func (o *object) add(name, value string) {
	o.names, o.values = append(o.names, name), append(o.values, value)
}

// String returns the JSON text.
func (o object) String() string {
	members := make([]string, len(o.names))
	for i, name := range o.names {
		quoted, _ := json.Marshal(name) // a string always has a JSON text
		members[i] = string(quoted) + ": " + o.values[i]
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// number writes one number, or a list of several.
func number(values []float64) string {
	if len(values) == 1 {
		return float(values[0])
	}
	return list(values)
}

func list(values []float64) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = float(v)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func float(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// elements returns the values as a JSON list.
func (o object) elements() string { return "[" + strings.Join(o.values, ", ") + "]" }
