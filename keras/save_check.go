package keras

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/saving"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// checkReadable reads a document as LoadModel would and compares the result with the model, so that no file is written
// that cannot be read or that means something else. A document that was found good is not read again.
func (m *Model) checkReadable(document []byte, objects []saving.Object) error {
	sum := sha256.Sum256(document)
	if m.readable == sum {
		return nil
	}
	if err := checkRegistered(objects); err != nil {
		return err
	}
	read, err := modelFromFile(document, &fileConfig{}, nil)
	if err != nil {
		return fmt.Errorf("LoadModel could not read the file: %w%s", err, untaggedMembers(objects))
	}
	if err := sameObjects(objects, saving.Objects(read)); err != nil {
		return err
	}
	m.readable = sum
	return nil
}

// checkRegistered finds layers whose types no reader knows.
func checkRegistered(objects []saving.Object) error {
	for _, o := range objects {
		switch o.Layer.(type) {
		case *Model, *layers.Operation:
			continue
		}
		if config.Module(o.Layer) == "" && layers.RegisteredName(o.Layer) == "" && memberOfModel(o, objects) {
			name := layers.ClassName(o.Layer)
			return fmt.Errorf("layer %q is a %T, which LoadModel does not know; register it, as in func init() { layers.Register[%s]() }, and write every field that is configuration with a tag such as `keras:\"units\"`", layers.Name(o.Layer), o.Layer, name)
		}
	}
	return nil
}

// untaggedMembers names the user-defined layers that hold layers in fields outside their configuration: unless Build
// creates these, a reader finds nil there.
func untaggedMembers(objects []saving.Object) string {
	for _, o := range objects {
		value, made := any(o.Layer), "Build"
		if m, ok := o.Layer.(*Model); ok && m.isSubclass() {
			value, made = m.topology.(*subclass).value, "a method Assemble"
		}
		v := reflect.Indirect(reflect.ValueOf(value))
		if config.Module(value) != "" || v.Kind() != reflect.Struct {
			continue
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if tag := f.Tag.Get("keras"); !f.Anonymous && (tag == "" || config.Outside(tag)) && holdsLayer(v.Field(i)) {
				return fmt.Sprintf("; field %s of %s holds layers and is no part of the configuration, so that LoadModel finds nothing there: make them in %s, from fields with keras tags, or write the field with a tag such as `keras:%q`", f.Name, title(o), made, layers.SnakeCase(f.Name))
			}
		}
	}
	return ""
}

// holdsLayer reports whether a field, exported or not, is a layer or a list or map of layers.
func holdsLayer(v reflect.Value) bool {
	t, layer := v.Type(), reflect.TypeFor[layers.Layer]()
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return t.Implements(layer) && !v.IsNil()
	case reflect.Slice, reflect.Map, reflect.Array:
		return t.Elem().Implements(layer) && v.Len() > 0
	}
	return false
}

// memberOfModel reports whether a model lists the object's layer, so that the document describes it. Layers inside
// other layers are created by those.
func memberOfModel(o saving.Object, objects []saving.Object) bool {
	for _, other := range objects {
		if m, ok := other.Layer.(*Model); ok && !m.isSubclass() {
			for _, l := range m.Layers() {
				if l == o.Layer {
					return true
				}
			}
		}
	}
	return false
}

// sameObjects compares what is to be written with what a model read from the document expects.
func sameObjects(written, read []saving.Object) error {
	byPath := map[string]saving.Object{}
	for _, o := range read {
		byPath[o.Path] = o
	}
	for _, o := range written {
		other, found := byPath[o.Path]
		if !found || len(other.Variables) != len(o.Variables) || layers.ClassName(o.Layer) != layers.ClassName(other.Layer) {
			return fmt.Errorf("%s has %d variables at %q, and a model that LoadModel makes of the file has %s there; a layer must make the same sub-layers and weights again from its configuration (fields with keras tags)",
				title(o), len(o.Variables), o.Path, counted(other, found))
		}
		for i, v := range o.Variables {
			if got := other.Variables[i].Type(); !got.Equal(v.Type()) {
				return fmt.Errorf("%s: variable %s is %v, and %v in a model that LoadModel makes of the file; was a field changed after the layer was built?", title(o), v.Path(), v.Type(), got)
			}
		}
		if err := sameLayer(o, other); err != nil {
			return err
		}
	}
	return nil
}

func title(o saving.Object) string {
	return fmt.Sprintf("layer %q (%s)", layers.Name(o.Layer), layers.ClassName(o.Layer))
}

func counted(o saving.Object, found bool) string {
	if !found {
		return "nothing"
	}
	return fmt.Sprintf("%s with %d", config.A(layers.ClassName(o.Layer)), len(o.Variables))
}

// sameLayer compares the configurations of two layers. For layers of other packages it also compares exported fields
// outside the configuration.
func sameLayer(o, read saving.Object) error {
	switch l := o.Layer.(type) {
	case *Model:
		if other, ok := read.Layer.(*Model); ok && l.isSubclass() && other.isSubclass() {
			return sameFields(title(o), l.topology.(*subclass).value, other.topology.(*subclass).value)
		}
		return nil
	case *layers.Operation:
		return nil
	}
	want, err := layerConfig(o.Layer)
	if err != nil {
		return err
	}
	got, err := layerConfig(read.Layer)
	if err != nil {
		return err
	}
	if key := difference(want, got, ""); key != "" {
		return fmt.Errorf("%s: its configuration differs at %s from that of a model that LoadModel makes of the file; write it with a keras tag on the layer that holds it, or make it again in Build", title(o), key)
	}
	if config.Module(o.Layer) != "" {
		return nil
	}
	return sameFields(title(o), o.Layer, read.Layer)
}

// sameFields compares the exported fields that are not part of the configuration.
func sameFields(title string, written, read any) error {
	a, b := reflect.Indirect(reflect.ValueOf(written)), reflect.Indirect(reflect.ValueOf(read))
	if a.Kind() != reflect.Struct || a.Type() != b.Type() {
		return nil
	}
	for i := range a.NumField() {
		f := a.Type().Field(i)
		if _, tagged := f.Tag.Lookup("keras"); tagged || !f.IsExported() || f.Anonymous || f.Name == "Name" || f.Name == "DType" || f.Name == "Frozen" {
			continue
		}
		if !sameField(a.Field(i), b.Field(i)) {
			return fmt.Errorf("%s: field %s is %v and would be %v in a model that LoadModel makes of the file, because it is no part of the configuration; give it a tag, as in %s %v `keras:%q`, or `keras:\"-\"` if it does not matter",
				title, f.Name, a.Field(i), b.Field(i), f.Name, f.Type, layers.SnakeCase(f.Name))
		}
	}
	return nil
}

// sameField compares fields. Layers in them are compared as objects, and functions only by whether they are nil.
func sameField(a, b reflect.Value) bool {
	if len(layers.LayersIn(a)) > 0 || a.Type().Implements(reflect.TypeFor[layers.Layer]()) {
		return true
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
	case reflect.Func:
		return a.IsNil() == b.IsNil()
	}
	switch a.Interface().(type) {
	case optimizers.Optimizer, metrics.Metric, losses.Loss: // which have variables
		x, err := config.EncodeObject(a.Interface())
		y, other := config.EncodeObject(b.Interface())
		return err == nil && other == nil && reflect.DeepEqual(x, y)
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// layerConfig returns the configuration of a layer as stored in a file.
func layerConfig(l layers.Layer) (any, error) {
	o, err := layers.ToObject(l)
	if err != nil {
		return nil, err
	}
	if err := finishDocument(o, false); err != nil { // a reader makes these from the model's configuration
		return nil, err
	}
	text, err := config.Marshal(o)
	if err != nil {
		return nil, err
	}
	var v any
	err = json.Unmarshal(quoteNonFinite(text), &v)
	return v, err
}

// inherited are keys of wrapped layers that a model fills in, or that weights do not depend on.
var inherited = []string{"name", "dtype", "trainable", "build_config"}

// difference returns the path of the first difference between two configurations, or "".
func difference(a, b any, path string) string {
	x, isMap := a.(map[string]any)
	y, both := b.(map[string]any)
	if isMap && both {
		for _, key := range slices.Sorted(maps.Keys(x)) {
			if slices.Contains(inherited, key) {
				continue
			}
			if at := difference(x[key], y[key], path+"/"+key); at != "" {
				return at
			}
		}
		return ""
	}
	u, isList := a.([]any)
	v, both := b.([]any)
	if isList && both && len(u) == len(v) {
		for i := range u {
			if at := difference(u[i], v[i], fmt.Sprintf("%s/%d", path, i)); at != "" {
				return at
			}
		}
		return ""
	}
	if !reflect.DeepEqual(a, b) {
		return fmt.Sprintf("%s (%v and %v)", path, a, b)
	}
	return ""
}
