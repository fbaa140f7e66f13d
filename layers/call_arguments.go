package layers

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
)

// CallArguments returns the arguments that Keras passes to each call of the layer and that this package keeps in fields
// with the tag `call:"name"`, for example use_causal_mask; fields with the zero value are omitted. Files hold them with
// the calls of a Functional model.
func CallArguments(l Layer) map[string]any {
	out := map[string]any{}
	for _, f := range callFields(l) {
		if !f.value.IsZero() {
			out[f.name] = f.value.Interface()
		}
	}
	return out
}

// SetCallArgument sets the field that stands for an argument of the call in Keras. A value of the wrong type or an
// unknown name is an error.
func SetCallArgument(l Layer, name string, value any) error {
	if IsNil(l) {
		return errNilLayer
	}
	var known []string
	for _, f := range callFields(l) {
		if f.name != name {
			known = append(known, f.name)
			continue
		}
		v := reflect.ValueOf(value)
		if n, isNumber := value.(float64); isNumber && f.value.Kind() == reflect.Bool {
			v = reflect.ValueOf(n != 0) // in Python any number says whether
		}
		if !v.IsValid() || !v.Type().AssignableTo(f.value.Type()) {
			return fmt.Errorf("layers: %s: call argument %q must be %s, received %v", ClassName(l), name, config.A(f.value.Type().String()), value)
		}
		f.value.Set(v)
		return nil
	}
	slices.Sort(known)
	return fmt.Errorf("layers: %s has no call argument %q; known: [%s]", ClassName(l), name, strings.Join(known, ", "))
}

type callField struct {
	name  string
	value reflect.Value
}

func callFields(l Layer) []callField {
	v := reflect.ValueOf(l)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	var out []callField
	for i := range v.Elem().NumField() {
		f := v.Elem().Type().Field(i)
		if name, ok := f.Tag.Lookup("call"); ok && f.IsExported() {
			out = append(out, callField{name, v.Elem().Field(i)})
		}
	}
	return out
}

// settle sets the fields of a layer that stand for arguments of its call and returns the other arguments. If the layer
// was called before with another value, that is an error, because it would change the earlier call.
func (k Keywords) settle(l Layer) (Keywords, error) {
	rest := maps.Clone(k)
	for _, f := range callFields(l) {
		v, given := k[f.name]
		if !given || v == nil {
			continue
		}
		delete(rest, f.name)
		if was := f.value.Interface(); reflect.DeepEqual(was, v) {
			continue
		} else if attach(l).built {
			return nil, fmt.Errorf("%s=%v, but a call before had %v, which holds for all calls of a layer; use another layer for this one", f.name, v, was)
		}
		if err := SetCallArgument(l, f.name, v); err != nil {
			return nil, err
		}
	}
	return rest, nil
}
