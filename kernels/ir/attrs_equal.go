package ir

import (
	"hash/maphash"
	"math"
	"reflect"
)

// EqualAttrs reports whether two attributes are of one type and have equal fields. An empty list equals one that is
// nil, numbers are compared by their bits, and sub-programs are equal only if they are the same.
func EqualAttrs(a, b Attrs) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	return x.Type() == y.Type() && equalFields(x, y)
}

func equalFields(x, y reflect.Value) bool {
	switch x.Kind() {
	case reflect.Struct:
		for i := range x.NumField() {
			if !equalFields(x.Field(i), y.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if x.Len() != y.Len() {
			return false
		}
		if x.Type().Elem().Kind() == reflect.Uint8 {
			return string(x.Bytes()) == string(y.Bytes())
		}
		for i := range x.Len() {
			if !equalFields(x.Index(i), y.Index(i)) {
				return false
			}
		}
		return true
	case reflect.String:
		return x.String() == y.String()
	case reflect.Pointer:
		return x.Pointer() == y.Pointer()
	}
	return bitsOf(x) == bitsOf(y)
}

var attrsSeed = maphash.MakeSeed()

// HashAttrs returns a number that equal attributes share. It differs between processes.
func HashAttrs(a Attrs) uint64 {
	if a == nil {
		return 0
	}
	return hashField(1, reflect.ValueOf(a))
}

func hashField(h uint64, v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			h = hashField(h, v.Field(i))
		}
		return h
	case reflect.Slice:
		h = MixHash(h, uint64(v.Len()))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return MixHash(h, maphash.Bytes(attrsSeed, v.Bytes()))
		}
		for i := range v.Len() {
			h = hashField(h, v.Index(i))
		}
		return h
	case reflect.String:
		return MixHash(h, maphash.String(attrsSeed, v.String()))
	case reflect.Pointer:
		return h
	}
	return MixHash(h, bitsOf(v))
}

// bitsOf returns a bool or a number as bits.
func bitsOf(v reflect.Value) uint64 {
	switch {
	case v.CanInt():
		return uint64(v.Int())
	case v.CanUint():
		return v.Uint()
	case v.CanFloat():
		return math.Float64bits(v.Float())
	case v.Bool():
		return 1
	}
	return 0
}

// MixHash returns a hash of what h is a hash of, followed by x.
func MixHash(h, x uint64) uint64 {
	h = (h ^ x) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}
