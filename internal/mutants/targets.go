package main

// target is a package whose files are changed, and the tests that should notice: arguments of go test, the quick ones
// first.
type target struct {
	files []string // patterns
	tests []string
}

// defaults compares what zero values of all types mean with Keras; it is quick, but links much.
const defaults = "./keras -run ^TestDefaults$"

// targets is the numeric core.
var targets = []target{
	{[]string{"optimizers/*.go", "optimizers/schedules/*.go"}, []string{"./optimizers/...", defaults}},
	{[]string{"losses/*.go", "keras/ops/objectives/*.go"}, []string{"./losses", "./metrics", defaults}},
	{[]string{"metrics/*.go"}, []string{"./metrics", defaults}},
	{[]string{"layers/activations/*.go"}, []string{"./layers/activations"}},
	{[]string{"layers/initializers/*.go"}, []string{"./layers/initializers", defaults}},
	{[]string{"layers/constraints/*.go", "layers/regularizers/*.go"}, []string{"./layers/constraints ./layers/regularizers", defaults}},
	{[]string{"layers/dense.go", "layers/conv*.go", "layers/batch_*.go", "layers/layer_normalization.go", "layers/group_normalization.go", "layers/rnn*.go", "layers/lstm.go", "layers/gru.go",
		"layers/*pooling.go", "layers/*attention.go", "layers/head_*.go", "layers/resize.go", "layers/dot.go", "layers/spectral_normalization.go"}, []string{"./layers", defaults}},
	{[]string{"keras/ops/*.go"}, []string{"./keras/ops"}},
	{[]string{"kernels/ir/float16.go", "kernels/ir/literal.go", "kernels/ir/decompose*.go", "kernels/ir/infer_*.go"}, []string{"./kernels/ir", "./kernels/reference", "./keras/ops", "./kernels/kernelstest"}},
	{[]string{"kernels/ir/pass/*.go"}, []string{"./kernels/ir/pass", "./kernels/cpu"}},
	{[]string{"kernels/cpu/*.go"}, []string{"./kernels/cpu"}},
	{[]string{"kernels/cpu/internal/*/*.go"}, []string{"./kernels/cpu/internal/...", "./kernels/cpu"}},
	{[]string{"internal/philox/*.go"}, []string{"./internal/philox"}},
}
