package data

import (
	"fmt"
	"reflect"
	"slices"
)

// ToCategorical converts class numbers to one-hot vectors: labels of shape (d1, ..., dk) give float32 values of shape
// (d1, ..., dk, numClasses) that are 1 at the class and 0 elsewhere. A last axis of length 1 is dropped first, as in
// Keras: (n, 1) gives (n, numClasses). labels is anything that ToArray accepts and must hold integers from 0 to
// numClasses-1; numClasses = 0 means the largest label plus 1.
//
// This is Keras's behaviour, except that Keras returns float64 for NumPy input and counts negative labels from the end.
func ToCategorical(labels any, numClasses int) (Array, error) {
	d, err := numericArray(labels, "labels")
	if err != nil {
		return Array{}, fmt.Errorf("data: ToCategorical: %w", err)
	}
	classes, err := wholeNumbers(d)
	if err != nil {
		return Array{}, fmt.Errorf("data: ToCategorical: %w", err)
	}
	if numClasses < 0 {
		return Array{}, fmt.Errorf("data: ToCategorical: %d classes; expected at least 1, or 0 to count them", numClasses)
	}
	if numClasses == 0 {
		numClasses = int(max(slices.Max(classes), 0)) + 1
	}
	shape := slices.Clone(d.Shape())
	if k := len(shape); k > 1 && shape[k-1] == 1 {
		shape = shape[:k-1]
	}
	shape = append(shape, numClasses)
	n, ok := volume(shape, 4)
	if !ok {
		return Array{}, fmt.Errorf("data: ToCategorical: shape %v is too large for memory", shape)
	}
	out := make([]float32, n)
	for i, class := range classes {
		if class < 0 || class >= int64(numClasses) {
			return Array{}, fmt.Errorf("data: ToCategorical: label %d is %d; expected 0 to %d", i, class, numClasses-1)
		}
		out[i*numClasses+int(class)] = 1
	}
	return wrap(out, shape...), nil
}

// wholeNumbers reads an array of integers, bools or floats without a fraction.
func wholeNumbers(d Array) ([]int64, error) {
	values := reflect.ValueOf(d.Elements())
	out := make([]int64, values.Len())
	for i := range out {
		switch v := values.Index(i); {
		case v.CanInt():
			out[i] = v.Int()
		case v.CanUint():
			out[i] = int64(min(v.Uint(), 1<<62))
		case v.CanFloat():
			if out[i] = int64(v.Float()); float64(out[i]) != v.Float() {
				return nil, fmt.Errorf("label %d is %v; expected a whole number", i, v.Float())
			}
		case v.Bool():
			out[i] = 1
		}
	}
	return out, nil
}
