package layers

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
)

// classAliases maps other names under which Keras exports a class, and the names of the layers with which a
// FeatureSpace joins its features and passes them on.
var classAliases = map[string]string{
	"Convolution1D": "Conv1D", "Convolution2D": "Conv2D", "Convolution3D": "Conv3D",
	"Convolution1DTranspose": "Conv1DTranspose", "Convolution2DTranspose": "Conv2DTranspose", "Convolution3DTranspose": "Conv3DTranspose",
	"SeparableConvolution1D": "SeparableConv1D", "SeparableConvolution2D": "SeparableConv2D",
	"MaxPool1D": "MaxPooling1D", "MaxPool2D": "MaxPooling2D", "MaxPool3D": "MaxPooling3D",
	"AvgPool1D": "AveragePooling1D", "AvgPool2D": "AveragePooling2D", "AvgPool3D": "AveragePooling3D",
	"GlobalMaxPool1D": "GlobalMaxPooling1D", "GlobalMaxPool2D": "GlobalMaxPooling2D", "GlobalMaxPool3D": "GlobalMaxPooling3D",
	"TFDConcat": "Concatenate", "TFDIdentity": "Identity",
	"GlobalAvgPool1D": "GlobalAveragePooling1D", "GlobalAvgPool2D": "GlobalAveragePooling2D", "GlobalAvgPool3D": "GlobalAveragePooling3D",
}

// IgnoredConfig lists the keys that Keras writes for features that this package leaves to others or does not have. They
// are accepted if they have no value. Python's classes without a constructor of their own have "autocast": true.
//
//go:noinline
func (b *Base) IgnoredConfig() []string {
	return []string{"activity_regularizer=null", "autocast", "quantization_config=null"}
}

// FromObject creates a layer from its object in a Keras file: {"class_name": ..., "config": {...}}. Keys in ignore are
// skipped.
func FromObject(raw json.RawMessage, ignore ...string) (Layer, error) {
	o, err := config.ParseObject(raw)
	if err != nil {
		return nil, config.Prefixed("layers: ", err)
	}
	return fromObject(o, ignore...)
}

func fromObject(o config.Object, ignore ...string) (Layer, error) {
	if read, ok := modelReaders[o.RegisteredName]; ok {
		return read(o.Config, o.Build, o.Compile)
	}
	if read, ok := modelReaders[o.ClassName]; ok && !strings.Contains(o.RegisteredName, ">") {
		return read(o.Config, o.Build, o.Compile)
	}
	l, err := registry.Object(o, New)
	if err != nil {
		return nil, err
	}
	if RegisteredName(l) != "" {
		return l, decodeCustom(o.Config, l, ignore)
	}
	if err := config.Decode(o.Config, l, ignore...); err != nil {
		return nil, config.Prefixed("layers: ", err)
	}
	return l, nil
}

// commonKeys are in the configuration of every layer in a Keras file; custom types need not handle them.
var commonKeys = []string{"name", "trainable", "dtype"}

// decodeCustom reads the configuration of a custom layer. What all layers share goes to its Base unless a field is
// tagged for it, and to the conventional fields Name, Frozen and DType.
func decodeCustom(raw json.RawMessage, l Layer, ignore []string) error {
	var missing []string
	for _, key := range commonKeys {
		if !config.HasKey(l, key) {
			missing = append(missing, key)
		}
	}
	if err := config.Decode(raw, l, append(slices.Clone(ignore), missing...)...); err != nil {
		return config.Prefixed("layers: ", err)
	}
	var common struct {
		Name      *string `keras:"name"`
		Trainable *bool   `keras:"trainable"`
		DType     string  `keras:"dtype"`
	}
	var keys map[string]json.RawMessage
	if len(raw) > 0 && string(raw) != "null" {
		if err := config.Unmarshal(raw, &keys); err != nil {
			return config.Prefixed("layers: ", err)
		}
	}
	maps.DeleteFunc(keys, func(key string, _ json.RawMessage) bool { return !slices.Contains(missing, key) })
	text, err := json.Marshal(keys)
	if err == nil {
		err = config.Decode(text, &common)
	}
	if err != nil {
		return config.Prefixed("layers: ", err)
	}
	v := reflect.ValueOf(l)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	field := func(name string, kind reflect.Kind) (reflect.Value, bool) {
		f := v.FieldByName(name)
		return f, f.IsValid() && f.CanSet() && f.Kind() == kind
	}
	if common.Name != nil {
		if f, ok := field("Name", reflect.String); ok {
			f.SetString(*common.Name)
		}
	}
	if f, ok := field("Frozen", reflect.Bool); ok && common.Trainable != nil {
		f.SetBool(!*common.Trainable)
	}
	if f, ok := field("DType", reflect.String); ok && common.DType != "" {
		f.SetString(common.DType)
	}
	b := attach(l)
	if common.Name != nil {
		b.name = *common.Name
	}
	if common.DType != "" {
		b.policy = common.DType
	}
	b.freeze(b.frozen || common.Trainable != nil && !*common.Trainable)
	return nil
}

// encodeCommon adds what all layers share to the configuration of a custom layer, as Keras's get_config does.
func encodeCommon(l Layer, c map[string]any) {
	b := l.base()
	for _, key := range commonKeys {
		if _, has := c[key]; has {
			continue
		}
		switch {
		case key == "name":
			c[key] = Name(l)
		case key == "trainable":
			c[key] = b.Trainable()
		case b.policy != "":
			c[key] = config.DTypePolicyObject(b.policy)
		}
	}
}

// ToObject returns the object that stands for a layer in a Keras file, with its current name and whether it is trained.
func ToObject(l Layer) (map[string]any, error) {
	if IsNil(l) {
		return nil, errNilLayer
	}
	attach(l).isFrozen() // layers inside get it, too, before they are written
	if w, ok := l.(ObjectWriter); ok {
		return w.LayerObject()
	}
	o, err := config.EncodeObject(l)
	if err != nil {
		return nil, named(l, err)
	}
	c := o["config"].(map[string]any)
	if config.Module(l) == "" || RegisteredName(l) != "" {
		encodeCommon(l, c)
	}
	if _, has := c["name"]; has {
		c["name"] = Name(l)
	}
	if _, has := c["trainable"]; has {
		c["trainable"] = l.base().Trainable()
	}
	if a, ok := l.(configAdjuster); ok {
		if err := a.adjustConfig(c); err != nil {
			return nil, named(l, err)
		}
	}
	return o, nil
}

// configAdjuster is implemented by layers whose configuration needs more than tags can express.
type configAdjuster interface{ adjustConfig(map[string]any) error }

// resolveLayer turns what a configuration holds into a layer.
func resolveLayer(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case config.Object:
		return fromObject(v)
	case Layer:
		if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && r.IsNil() {
			return nil, fmt.Errorf("layers: received a nil %T; expected a layer", v)
		}
		return v, nil
	}
	return nil, fmt.Errorf("layers: received %s; expected a layer", config.Received(v))
}

func describeLayer(v any) (any, error) {
	l, ok := v.(Layer)
	if !ok {
		return nil, nil
	}
	return ToObject(l)
}

func init() {
	config.RegisterType(layerType, "layer")
	config.RegisterKindWith("layer", resolveLayer, describeLayer)
	config.RegisterKindWith("cell", resolveLayer, describeLayer)
}

// named is an error about a layer.
func named(l Layer, err error) error { return config.Prefixed("layers: "+Name(l)+": ", err) }
