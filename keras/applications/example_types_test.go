package applications_test

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/applications"
	"github.com/gokeras/gokeras/layers"
)

// report prints what became of a model.
func report(m *keras.Model, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	last := m.Layers()[len(m.Layers())-1]
	fmt.Println(m.Name(), m.CountParams(), layers.OutputTypes(last))
}

// A network for grey images of any size that ends with features.
func ExampleOptions() {
	report(applications.NewVGG16(applications.Options{
		NoTop: true, Pooling: "max", InputShape: []int{layers.Unknown, layers.Unknown, 1}, Name: "grey"}))
	report(applications.NewVGG16(applications.Options{InputShape: []int{20, 20, 3}}))
	// Output:
	// grey 14713536 [float32[None 512]]
	// applications: vgg16: the input must be at least 32x32, received InputShape [20 20 3]
}

func ExampleMobileNetOptions() {
	report(applications.NewMobileNet(applications.MobileNetOptions{Alpha: 0.25, Options: applications.Options{Classes: 10}}))
	// Output: mobilenet_0.25_224 221114 [float32[None 10]]
}

func ExampleMobileNetV2Options() {
	report(applications.NewMobileNetV2(applications.MobileNetV2Options{Alpha: 0.35, Options: applications.Options{Classes: 10}}))
	// Output: mobilenetv2_0.35_224 423018 [float32[None 10]]
}

func ExampleMobileNetV3Options() {
	report(applications.NewMobileNetV3Small(applications.MobileNetV3Options{Minimalistic: true, Options: applications.Options{Classes: 10}}))
	// Output: MobileNetV3Small 1042098 [float32[None 10]]
}

func ExampleEfficientNetV2Options() {
	report(applications.NewEfficientNetV2B0(applications.EfficientNetV2Options{NoPreprocessing: true, Options: applications.Options{Classes: 10}}))
	// Output: efficientnetv2-b0 5932122 [float32[None 10]]
}

func ExampleConvNeXtOptions() {
	report(applications.NewConvNeXtTiny(applications.ConvNeXtOptions{Options: applications.Options{Classes: 10}}))
	// Output: convnext_tiny 27827818 [float32[None 10]]
}

// Published weights are used from a folder; nothing is fetched unless Download is set.
func ExampleFiles() {
	files := applications.Files{CacheDir: "models"}
	report(applications.NewDenseNet121(applications.Options{Weights: applications.ImageNet, Files: files}))
	// Output: applications: densenet121: there is no file models/densenet121_weights_tf_dim_ordering_tf_kernels.h5; set Files.Download to fetch it, or place there what is at https://storage.googleapis.com/tensorflow/keras-applications/densenet/densenet121_weights_tf_dim_ordering_tf_kernels.h5
}

func ExampleDecodePredictions() {
	scores := make([]float32, 1000) // as a network with ImageNet's classes gives them
	scores[1], scores[0] = 0.75, 0.25
	folder, err := os.MkdirTemp("", "applications")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	names := map[string][]string{"0": {"n01440764", "tench"}, "1": {"n01443537", "goldfish"}}
	for i := 2; i < 1000; i++ {
		names[fmt.Sprint(i)] = []string{"n0", "other"}
	}
	raw, err := json.Marshal(names)
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(folder, "imagenet_class_index.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		log.Fatal(err)
	}
	decoded, err := applications.DecodePredictions(data.Must(data.ArrayOf(scores, 1, 1000)),
		applications.DecodeOptions{Top: 2, ClassIndex: path})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range decoded[0] {
		fmt.Println(p.ID, p.Label, p.Score)
	}
	// Output:
	// n01443537 goldfish 0.75
	// n01440764 tench 0.25
}

func ExampleLayerScale() {
	x := keras.Input(keras.Shape(4, 4, 8))
	y := layers.Apply(&applications.LayerScale{InitValues: 1e-6, ProjectionDim: 8}, x)
	report(keras.NewFunctional(keras.Inputs(x), keras.Outputs(y)))
	// Output: functional 8 [float32[None 4 4 8]]
}

func ExampleCustomScaleLayer() {
	x := keras.Input(keras.Shape(8))
	up := layers.Apply(&layers.Dense{Units: 8}, x)
	report(keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.Apply(&applications.CustomScaleLayer{Scale: 0.17}, x, up))))
	// Output: functional 72 [float32[None 8]]
}
