package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
)

// MaxSize is the largest number, and its negative the smallest, that a field of type int may have: sizes are multiplied
// with one another, and with lengths of arrays, before it is known whether the result fits into memory.
const MaxSize = math.MaxInt32

// values lists keys of integers that are not sizes and can have any value.
var values = []string{"seed", "vocabulary", "mask_token", "oov_token"}

// CheckBounds refuses a struct with a field of type int, *int, []int or [][]int beyond MaxSize. Seeds and vocabularies
// may have any value.
func CheckBounds(v any) error {
	s := reflect.ValueOf(v)
	for s.Kind() == reflect.Pointer || s.Kind() == reflect.Interface {
		s = s.Elem()
	}
	if s.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range fieldsOf(s.Type()) {
		if slices.Contains(values, f.key) {
			continue
		}
		value, err := s.FieldByIndexErr(f.index)
		if err != nil {
			continue // of an embedded struct that is not there
		}
		if n, ok := outOfBounds(value); ok {
			return fmt.Errorf("%s: %s is %d; expected a number between -%d and %d", ClassName(v), f.name, n, MaxSize, MaxSize)
		}
	}
	return nil
}

func outOfBounds(v reflect.Value) (int64, bool) {
	switch v.Kind() {
	case reflect.Int:
		n := v.Int()
		return n, n > MaxSize || n < -MaxSize
	case reflect.Pointer:
		if !v.IsNil() {
			return outOfBounds(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		switch v.Type().Elem().Kind() {
		case reflect.Int, reflect.Slice:
			for i := range v.Len() {
				if n, bad := outOfBounds(v.Index(i)); bad {
					return n, true
				}
			}
		}
	}
	return 0, false
}
