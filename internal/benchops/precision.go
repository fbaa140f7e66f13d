package main

import (
	"regexp"
	"slices"
)

// precision is the element type in which floats are timed.
var precision = "float32"

// ofIntegers are the functions that are timed for integers too: those of which the element type makes another kernel.
var ofIntegers = regexp.MustCompile(`^(abs|add|subtract|multiply|floor_divide|mod|maximum|minimum|negative|sign|square|clip|equal|not_equal|less|less_equal|greater|greater_equal|` +
	`where|sum|prod|max|min|mean|argmax|argmin|any|all|cumsum|cumprod|sort|argsort|top_k|transpose|concatenate|stack|pad|flip|roll|tile|repeat|take|take_along_axis|` +
	`cast|max_pool|resize|tril|triu|diff|bincount|unique|count_nonzero)$`)

// in returns the call with operands of another type than float32; ok is false where there is no such call.
func (b benchmark) in(dtype string) (_ benchmark, ok bool) {
	if dtype == "float32" {
		return b, true
	}
	if dtype == "int32" && !ofIntegers.MatchString(b.Name) {
		return b, false
	}
	b.Name += " (" + dtype + ")"
	b.Arguments = slices.Clone(b.Arguments)
	for i, a := range b.Arguments {
		tensors := slices.Clone(a.Tensors)
		for j := range tensors {
			t := &tensors[j]
			if t.DType != "float32" {
				continue
			}
			if ok, t.DType = true, dtype; dtype == "int32" {
				t.Low, t.High = -100, 100
			}
		}
		b.Arguments[i].Tensors = tensors
	}
	return b, ok
}
