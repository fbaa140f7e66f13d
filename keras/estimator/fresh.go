package estimator

import (
	"reflect"

	"github.com/gokeras/gokeras/optimizers"
)

var optimizerType = reflect.TypeFor[optimizers.Optimizer]()

// fresh returns an optimizer with the same configuration but without state, so that one optimizer serves many sessions.
// Its exported fields are copied, optimizers in them are made fresh, and its Base is new.
func fresh(o optimizers.Optimizer) optimizers.Optimizer {
	from := reflect.ValueOf(o)
	if from.Kind() != reflect.Pointer || from.Elem().Kind() != reflect.Struct {
		return o
	}
	to := reflect.New(from.Type().Elem())
	for i := range from.Elem().NumField() {
		field := from.Type().Elem().Field(i)
		if !field.IsExported() || field.Type == reflect.TypeFor[optimizers.Base]() {
			continue
		}
		to.Elem().Field(i).Set(freshValue(from.Elem().Field(i)))
	}
	return to.Interface().(optimizers.Optimizer)
}

// freshValue copies a field of an optimizer. Optimizers in it, and in lists in it, are made fresh.
func freshValue(v reflect.Value) reflect.Value {
	switch {
	case v.Type().Implements(optimizerType) && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer):
		if !v.IsNil() {
			return reflect.ValueOf(fresh(v.Interface().(optimizers.Optimizer)))
		}
	case v.Kind() == reflect.Slice && !v.IsNil():
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(freshValue(v.Index(i)))
		}
		return out
	}
	return v
}
