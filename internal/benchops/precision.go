package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// precision is the element type of the operands that are timed.
var precision = "float32"

// numberRange is what the elements of a type are drawn from; those of floats are drawn from what the function takes.
var numberRange = map[string][2]float64{
	"int8": {-100, 100}, "int16": {-100, 100}, "int32": {-100, 100}, "int64": {-100, 100}, "uint8": {0, 200}, "bool": {0, 2},
}

// ofIntegers are the functions whose operands are integers in float32's rows too, and which take those of any type.
var ofIntegers = regexp.MustCompile(`^(bitwise_.*|left_shift|right_shift|gcd|lcm)$`)

// otherTypes are the types, beside float32, that have rows.
func otherTypes() []string {
	return []string{"float64", "float16", "bfloat16", "int32", "int64", "int16", "int8", "uint8", "bool"}
}

// wide reports whether a type has 64 bits, which JAX computes only where it is asked to.
func wide(dtype string) bool { return strings.HasSuffix(dtype, "64") }

// checkPrecision returns an error for a type without rows.
func checkPrecision() error {
	if known := append(otherTypes(), "float32"); !slices.Contains(known, precision) {
		return fmt.Errorf("-dtype is %q; the types are %s", precision, strings.Join(known, ", "))
	}
	return nil
}

// in returns the call with operands of another type than float32; ok is false where there is no such call.
func (b benchmark) in(dtype string) (_ benchmark, ok bool) {
	if dtype == "float32" {
		return b, true
	}
	from, limits := "float32", numberRange[dtype]
	if ofIntegers.MatchString(b.Name) {
		if from = "int32"; limits == [2]float64{} {
			return b, false
		}
	}
	if b.Layer != "" && dtype != "float64" {
		return b, false // the weights' type is that of the layer's policy
	}
	b.Name += " (" + dtype + ")"
	b.Arguments = slices.Clone(b.Arguments)
	for i, a := range b.Arguments {
		tensors := slices.Clone(a.Tensors)
		for j := range tensors {
			t := &tensors[j]
			if t.DType != from {
				continue
			}
			ok, t.DType = true, dtype
			switch {
			case strings.HasSuffix(b.Function, "_shift") && j == 0 && i == 1:
				t.Low, t.High = 0, 2 // places, by which no type loses all its bits
			case limits != [2]float64{}:
				t.Low, t.High = limits[0], limits[1]
				if positive.MatchString(b.Function) {
					t.Low = 1
				}
			}
		}
		b.Arguments[i].Tensors = tensors
	}
	return b, ok
}
