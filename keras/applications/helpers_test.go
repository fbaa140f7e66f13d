package applications_test

import (
	"bytes"
	"compress/bzip2"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/applications"
	"github.com/gokeras/gokeras/layers"
)

// arguments are those of Keras's constructors, see testdata/applications.py.
type arguments struct {
	IncludeTop           *bool             `json:"include_top"`
	Pooling              string            `json:"pooling"`
	Classes              int               `json:"classes"`
	ClassifierActivation json.RawMessage   `json:"classifier_activation"`
	InputShape           []int             `json:"input_shape"`
	Name                 string            `json:"name"`
	DataFormat           layers.DataFormat `json:"data_format"`

	Alpha                float64  `json:"alpha"`
	DepthMultiplier      int      `json:"depth_multiplier"`
	Dropout              *float64 `json:"dropout"`
	DropoutRate          *float64 `json:"dropout_rate"`
	Minimalistic         bool     `json:"minimalistic"`
	IncludePreprocessing *bool    `json:"include_preprocessing"`
}

func (a arguments) options() applications.Options {
	o := applications.Options{Pooling: a.Pooling, Classes: a.Classes, InputShape: a.InputShape, Name: a.Name, DataFormat: a.DataFormat,
		NoTop: a.IncludeTop != nil && !*a.IncludeTop}
	if string(a.ClassifierActivation) == "null" {
		o.ClassifierActivation = "linear"
	}
	return o
}

func (a arguments) noPreprocessing() bool {
	return a.IncludePreprocessing != nil && !*a.IncludePreprocessing
}

// plain are the constructors that take Options alone.
var plain = map[string]func(applications.Options, ...keras.Option) (*keras.Model, error){
	"ResNet50": applications.NewResNet50, "ResNet101": applications.NewResNet101, "ResNet152": applications.NewResNet152,
	"ResNet50V2": applications.NewResNet50V2, "ResNet101V2": applications.NewResNet101V2, "ResNet152V2": applications.NewResNet152V2,
	"VGG16": applications.NewVGG16, "VGG19": applications.NewVGG19,
	"EfficientNetB0": applications.NewEfficientNetB0, "EfficientNetB1": applications.NewEfficientNetB1,
	"EfficientNetB2": applications.NewEfficientNetB2, "EfficientNetB3": applications.NewEfficientNetB3,
	"EfficientNetB4": applications.NewEfficientNetB4, "EfficientNetB5": applications.NewEfficientNetB5,
	"EfficientNetB6": applications.NewEfficientNetB6, "EfficientNetB7": applications.NewEfficientNetB7,
	"DenseNet121": applications.NewDenseNet121, "DenseNet169": applications.NewDenseNet169, "DenseNet201": applications.NewDenseNet201,
	"Xception": applications.NewXception, "InceptionV3": applications.NewInceptionV3, "InceptionResNetV2": applications.NewInceptionResNetV2,
	"NASNetMobile": applications.NewNASNetMobile, "NASNetLarge": applications.NewNASNetLarge,
}

var efficientNetV2 = map[string]func(applications.EfficientNetV2Options, ...keras.Option) (*keras.Model, error){
	"EfficientNetV2B0": applications.NewEfficientNetV2B0, "EfficientNetV2B1": applications.NewEfficientNetV2B1,
	"EfficientNetV2B2": applications.NewEfficientNetV2B2, "EfficientNetV2B3": applications.NewEfficientNetV2B3,
	"EfficientNetV2S": applications.NewEfficientNetV2S, "EfficientNetV2M": applications.NewEfficientNetV2M,
	"EfficientNetV2L": applications.NewEfficientNetV2L,
}

var convNeXt = map[string]func(applications.ConvNeXtOptions, ...keras.Option) (*keras.Model, error){
	"ConvNeXtTiny": applications.NewConvNeXtTiny, "ConvNeXtSmall": applications.NewConvNeXtSmall, "ConvNeXtBase": applications.NewConvNeXtBase,
	"ConvNeXtLarge": applications.NewConvNeXtLarge, "ConvNeXtXLarge": applications.NewConvNeXtXLarge,
}

var mobileNetV3 = map[string]func(applications.MobileNetV3Options, ...keras.Option) (*keras.Model, error){
	"MobileNetV3Small": applications.NewMobileNetV3Small, "MobileNetV3Large": applications.NewMobileNetV3Large,
}

// construct makes the model that Keras makes of the arguments; false where the constructor is not known.
func construct(name string, a arguments, o applications.Options, extra ...keras.Option) (*keras.Model, error, bool) {
	if f := plain[name]; f != nil {
		m, err := f(o, extra...)
		return m, err, true
	}
	if f := efficientNetV2[name]; f != nil {
		m, err := f(applications.EfficientNetV2Options{Options: o, NoPreprocessing: a.noPreprocessing()}, extra...)
		return m, err, true
	}
	if f := convNeXt[name]; f != nil {
		m, err := f(applications.ConvNeXtOptions{Options: o, NoPreprocessing: a.noPreprocessing()}, extra...)
		return m, err, true
	}
	if f := mobileNetV3[name]; f != nil {
		m, err := f(applications.MobileNetV3Options{Options: o, Alpha: a.Alpha, Minimalistic: a.Minimalistic, DropoutRate: a.DropoutRate, NoPreprocessing: a.noPreprocessing()}, extra...)
		return m, err, true
	}
	switch name {
	case "MobileNet":
		m, err := applications.NewMobileNet(applications.MobileNetOptions{Options: o, Alpha: a.Alpha, DepthMultiplier: a.DepthMultiplier, Dropout: a.Dropout}, extra...)
		return m, err, true
	case "MobileNetV2":
		m, err := applications.NewMobileNetV2(applications.MobileNetV2Options{Options: o, Alpha: a.Alpha}, extra...)
		return m, err, true
	}
	return nil, nil, false
}

// unpack reads a file of testdata, packed or not.
func unpack(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	if bytes.HasPrefix(raw, []byte("BZh")) {
		raw, err = io.ReadAll(bzip2.NewReader(bytes.NewReader(raw)))
		require.NoError(t, err)
	}
	return raw
}
