package applications_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/applications"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestErrors: each check of Keras's constructors, with what was received and what is expected.
func TestErrors(t *testing.T) {
	const imagenet = applications.ImageNet
	missing := filepath.Join(t.TempDir(), "missing.h5")
	for _, c := range []struct {
		o    applications.Options
		want string
	}{
		{applications.Options{Weights: missing}, `Weights must be "" (random initialization), "imagenet" (pre-training on ImageNet), or the path of the weights file to be loaded; received "` + missing + `": no such file or directory`},
		{applications.Options{Weights: imagenet, Classes: 10}, `with Weights "imagenet" and the top included, Classes must be 1000, received 10`},
		{applications.Options{Weights: imagenet, InputShape: []int{100, 100, 3}}, `InputShape must be [224 224 3], received [100 100 3]`},
		{applications.Options{Weights: imagenet, NoTop: true, InputShape: []int{100, 100, 1}}, `the input must have 3 channels, received InputShape [100 100 1]`},
		{applications.Options{Weights: imagenet, ClassifierActivation: "relu"}, `ClassifierActivation must be "softmax" or "linear", received relu`},
		{applications.Options{InputShape: []int{224, 224}}, `InputShape must have three lengths, (height, width, channels), received [224 224]`},
		{applications.Options{InputShape: []int{31, 224, 3}}, `the input must be at least 32x32, received InputShape [31 224 3]`},
		{applications.Options{InputShape: []int{224, layers.Unknown, 3}}, `with the top included, InputShape must not have open axes, received [224 -1 3]`},
		{applications.Options{Pooling: "mean"}, `Pooling must be "", "avg" or "max", received "mean"`},
		{applications.Options{DataFormat: "nchw"}, `DataFormat must be "channels_first" or "channels_last", received "nchw"`},
		{applications.Options{Classes: -1}, `Classes must be positive, received -1`},
		{applications.Options{ClassifierActivation: "soft"}, `unknown activation "soft"`},
		{applications.Options{InputTensor: keras.Input(keras.Shape(10))}, `InputTensor must have the shape (batch, height, width, channels), received (None, 10) float32`},
		{applications.Options{InputTensor: keras.Input(keras.Shape(-5, 3, 3))}, `expected a length of at least 0`},
	} {
		_, err := applications.NewResNet50(c.o)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "applications: resnet50: ")
	}
}

func TestErrorsOfFamilies(t *testing.T) {
	first := applications.Options{DataFormat: layers.ChannelsFirst}
	pretrained := applications.Options{Weights: applications.ImageNet}
	image := keras.Input(keras.Shape(64, 64, 3))
	build := func(_ *keras.Model, err error) error { return err }
	for _, c := range []struct {
		err  error
		want string
	}{
		{build(applications.NewDenseNet121(first)), "applications: densenet121: this family supports DataFormat channels_last only"},
		{build(applications.NewNASNetMobile(first)), "applications: nasnet_mobile: this family supports DataFormat channels_last only"},
		{build(applications.NewConvNeXtTiny(applications.ConvNeXtOptions{Options: first})), "applications: convnext_tiny: this family supports"},
		{build(applications.NewNASNetLarge(applications.Options{NoTop: true})), "applications: nasnet_large: NASNet needs images of one size, received an input of shape (None, None, None, 3) float32; give InputShape"},
		{build(applications.NewXception(applications.Options{InputShape: []int{70, 71, 3}})), "applications: xception: the input must be at least 71x71"},
		{build(applications.NewInceptionV3(applications.Options{InputShape: []int{74, 75, 3}})), "applications: inception_v3: the input must be at least 75x75"},
		{build(applications.NewInceptionResNetV2(applications.Options{InputShape: []int{74, 75, 3}})), "applications: inception_resnet_v2: the input must be at least 75x75"},
		{build(applications.NewVGG19(applications.Options{Pooling: "sum"})), "applications: vgg19: Pooling"},
		{build(applications.NewEfficientNetB3(applications.Options{Pooling: "sum"})), "applications: efficientnetb3: Pooling"},
		{build(applications.NewEfficientNetV2S(applications.EfficientNetV2Options{Options: applications.Options{Pooling: "sum"}})), "applications: efficientnetv2-s: Pooling"},
		{build(applications.NewMobileNet(applications.MobileNetOptions{Options: pretrained, Alpha: 0.3})), "Alpha must be 0.25, 0.5, 0.75 or 1, received 0.3"},
		{build(applications.NewMobileNet(applications.MobileNetOptions{Options: pretrained, DepthMultiplier: 2})), "DepthMultiplier must be 1, received 2"},
		{build(applications.NewMobileNetV2(applications.MobileNetV2Options{Options: pretrained, Alpha: 0.3})), "Alpha must be 0.35, 0.5, 0.75, 1, 1.3 or 1.4, received 0.3"},
		{build(applications.NewMobileNetV2(applications.MobileNetV2Options{Options: applications.Options{InputTensor: image, InputShape: []int{32, 32, 3}}})), "InputShape [32 32 3] and the shape of InputTensor (None, 64, 64, 3) float32 differ"},
		{build(applications.NewMobileNetV3Small(applications.MobileNetV3Options{Options: pretrained, Alpha: 0.5})), "Alpha must be one of [0.75 1], received 0.5"},
		{build(applications.NewMobileNetV3Large(applications.MobileNetV3Options{Options: pretrained, Alpha: 0.75, Minimalistic: true})), "Alpha must be one of [1], received 0.75"},
		{build(applications.NewMobileNetV3Small(applications.MobileNetV3Options{Options: applications.Options{InputShape: []int{31, 64, 3}}})), "the input must be at least 32x32"},
	} {
		require.ErrorContains(t, c.err, c.want)
	}
}

// TestFileNames: the names, addresses and checksums under which Keras looks for ImageNet's weights.
func TestFileNames(t *testing.T) {
	files := applications.Files{CacheDir: t.TempDir()}
	top := applications.Options{Weights: applications.ImageNet, Files: files}
	body := top
	body.NoTop = true
	build := func(_ *keras.Model, err error) error { return err }
	const host = "https://storage.googleapis.com/"
	for _, c := range []struct {
		err       error
		name, url string
	}{
		{build(applications.NewResNet101(top)), "resnet101_weights_tf_dim_ordering_tf_kernels.h5", host + "tensorflow/keras-applications/resnet/resnet101_weights_tf_dim_ordering_tf_kernels.h5"},
		{build(applications.NewVGG16(body)), "vgg16_weights_tf_dim_ordering_tf_kernels_notop.h5", host + "tensorflow/keras-applications/vgg16/vgg16_weights_tf_dim_ordering_tf_kernels_notop.h5"},
		{build(applications.NewMobileNet(applications.MobileNetOptions{Options: body})), "mobilenet_1_0_224_tf_no_top.h5", host + "tensorflow/keras-applications/mobilenet/mobilenet_1_0_224_tf_no_top.h5"},
		{build(applications.NewMobileNetV2(applications.MobileNetV2Options{Options: top, Alpha: 1.3})), "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.3_224.h5", host + "tensorflow/keras-applications/mobilenet_v2/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.3_224.h5"},
		{build(applications.NewMobileNetV3Small(applications.MobileNetV3Options{Options: body, Minimalistic: true})), "weights_mobilenet_v3_small_minimalistic_224_1.0_float_no_top_v2.h5", host + "tensorflow/keras-applications/mobilenet_v3/weights_mobilenet_v3_small_minimalistic_224_1.0_float_no_top_v2.h5"},
		{build(applications.NewEfficientNetB0(body)), "efficientnetb0_notop.h5", host + "keras-applications/efficientnetb0_notop.h5"},
		{build(applications.NewEfficientNetV2B0(applications.EfficientNetV2Options{Options: top})), "efficientnetv2-b0.h5", host + "tensorflow/keras-applications/efficientnet_v2/efficientnetv2-b0.h5"},
		{build(applications.NewNASNetMobile(body)), "nasnet_mobile_no_top.h5", host + "tensorflow/keras-applications/nasnet/NASNet-mobile-no-top.h5"},
		{build(applications.NewConvNeXtTiny(applications.ConvNeXtOptions{Options: top})), "convnext_tiny.h5", host + "tensorflow/keras-applications/convnext/convnext_tiny.h5"},
	} {
		require.ErrorContains(t, c.err, "there is no file "+filepath.Join(files.CacheDir, c.name)+"; set Files.Download to fetch it, or place there what is at "+c.url)
	}
}

// TestInputTensor puts a network behind custom layers.
func TestInputTensor(t *testing.T) {
	pixels := keras.Input(keras.Shape(64, 48, 3), keras.InputName("pixels"))
	x := layers.Apply(&layers.Rescaling{Scale: []float64{1.0 / 255}, Name: "scale"}, pixels)
	m, err := applications.NewMobileNetV2(applications.MobileNetV2Options{Options: applications.Options{InputTensor: x, NoTop: true, Pooling: "avg"}, Alpha: 0.35})
	require.NoError(t, err)
	require.Len(t, m.Inputs(), 1)
	assert.Equal(t, "pixels", m.Inputs()[0].Name())
	_, err = m.GetLayer("scale")
	require.NoError(t, err)
}

// TestWeightsOfAnotherModel: a file that does not fit is an error.
func TestWeightsOfAnotherModel(t *testing.T) {
	o := applications.MobileNetOptions{Alpha: 0.25, Options: applications.Options{NoTop: true, InputShape: []int{32, 32, 3}}}
	m, err := applications.NewMobileNet(o)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "w.weights.h5")
	require.NoError(t, m.SaveWeights(path))
	o.Weights = path
	_, err = applications.NewMobileNet(o)
	require.NoError(t, err)
	o.Alpha = 0.5
	_, err = applications.NewMobileNet(o)
	require.ErrorContains(t, err, "applications: mobilenet: keras: LoadWeights: "+path)
	require.NoError(t, os.WriteFile(path, []byte("nothing"), 0o600))
	_, err = applications.NewMobileNet(o)
	require.ErrorContains(t, err, "this is not a weights file that can be read")
}

// TestModelOptions: strategy, seed and policy go to the whole model, also to the models inside it.
func TestModelOptions(t *testing.T) {
	strategy, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	require.NoError(t, err)
	o := applications.ConvNeXtOptions{Options: applications.Options{NoTop: true, Pooling: "avg", InputShape: []int{32, 32, 3}}}
	outputs := map[string]any{}
	for name, extra := range map[string][]keras.Option{"one": {keras.Seed(3)}, "two": {keras.Seed(3), distribute.Scope(strategy)}, "other": {keras.Seed(4)}} {
		m, err := applications.NewConvNeXtTiny(o, extra...)
		require.NoError(t, err)
		y, err := m.Predict(t.Context(), data.Arrays(inputsOf(m), nil))
		require.NoError(t, err)
		outputs[name] = y.Elements()
	}
	assert.Equal(t, outputs["one"], outputs["two"], "on two replicas")
	assert.NotEqual(t, outputs["one"], outputs["other"], "with another seed")

	m, err := applications.NewMobileNetV3Small(applications.MobileNetV3Options{}, keras.DTypePolicy("mixed_bfloat16"), keras.Name("half"))
	require.NoError(t, err)
	assert.Equal(t, "half", m.Name())
	assert.Equal(t, ir.Float32, m.Weights()[0].Type().DType)
	assert.Equal(t, ir.BFloat16, layers.OutputTypes(m.Layers()[2])[0].DType)
}
