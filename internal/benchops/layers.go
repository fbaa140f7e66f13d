package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// The layers are those of the registry. What a layer is given follows from its name: sequences where it ends in 1D,
// images for 2D, volumes for 3D, and matrices otherwise.

// configurations are what layers must be told. The first pattern that matches the class counts.
var configurations = []struct {
	class  *regexp.Regexp
	config map[string]any
}{
	{regexp.MustCompile(`^Dense$`), map[string]any{"units": 256}},
	{regexp.MustCompile(`^EinsumDense$`), map[string]any{"equation": "ab,bc->ac", "output_shape": 256, "bias_axes": "c"}},
	{regexp.MustCompile(`^DepthwiseConv`), map[string]any{"kernel_size": 3}},
	{regexp.MustCompile(`Conv\dD`), map[string]any{"filters": 16, "kernel_size": 3}},
	{regexp.MustCompile(`^Adaptive`), map[string]any{"output_size": 8}},
	{regexp.MustCompile(`Embedding$`), map[string]any{"input_dim": 1000, "output_dim": 64}},
	{regexp.MustCompile(`^(LSTM|GRU|SimpleRNN)$`), map[string]any{"units": 64}},
	{regexp.MustCompile(`^ConvLSTM`), map[string]any{"filters": 8, "kernel_size": 3}},
	{regexp.MustCompile(`^(Max|Average)Pooling`), map[string]any{"pool_size": 2}},
	{regexp.MustCompile(`^Activation$`), map[string]any{"activation": "relu"}},
	{regexp.MustCompile(`^GroupNormalization$`), map[string]any{"groups": 8}},
	{regexp.MustCompile(`^RepeatVector$`), map[string]any{"n": 4}},
	{regexp.MustCompile(`^Permute$`), map[string]any{"dims": []int{2, 3, 1}}},
	{regexp.MustCompile(`^Dot$`), map[string]any{"axes": 1}},
	{regexp.MustCompile(`^MultiHeadAttention$`), map[string]any{"num_heads": 4, "key_dim": 32}},
	{regexp.MustCompile(`^Group.*Attention$`), map[string]any{"head_dim": 32, "num_query_heads": 4, "num_key_value_heads": 2}},
	{regexp.MustCompile(`^Rescaling$`), map[string]any{"scale": 0.5, "offset": 0.1}},
	{regexp.MustCompile(`^Resizing$`), map[string]any{"height": 48, "width": 48}},
	{regexp.MustCompile(`^CenterCrop$`), map[string]any{"height": 24, "width": 24}},
	{regexp.MustCompile(`^CategoryEncoding$`), map[string]any{"num_tokens": 100}},
}

// words are sequences of numbers of words.
func words(n int) tensor { return tensor{"int32", []int{max(n/(64*64), 1), 64}, 0, 1000} }

// sequences are of 64 steps with 64 channels.
func sequences(n int) tensor { return floats(max(n/(64*64), 1), 64, 64) }

// volumes are of 16 x 16 x 16 cells with 8 channels.
func volumes(n int) tensor { return floats(max(n/(16*16*16*8), 1), 16, 16, 16, 8) }

// layerInputs are what layers get whose names do not tell.
var layerInputs = map[string]func(n int) []tensor{
	"Embedding": single(words), "ReversibleEmbedding": single(words), "LSTM": single(sequences), "GRU": single(sequences), "SimpleRNN": single(sequences),
	"Add": pair(rows), "Average": pair(rows), "Maximum": pair(rows), "Minimum": pair(rows), "Multiply": pair(rows), "Subtract": pair(rows), "Concatenate": pair(rows),
	"Dot": pair(rows), "Attention": pair(sequences), "AdditiveAttention": pair(func(n int) tensor { return floats(max(n/(64*64), 1), 16, 64) }),
	"MultiHeadAttention": pair(sequences), "GroupQueryAttention": pair(sequences), "Permute": single(images), "Resizing": single(images), "CenterCrop": single(images),
	"BatchNormalization": single(images), "GroupNormalization": single(images),
	"CategoryEncoding": single(func(n int) tensor { return tensor{"int32", []int{n / 128, 1}, 0, 100} }),
}

func single(f func(n int) tensor) func(n int) []tensor {
	return func(n int) []tensor { return []tensor{f(n)} }
}

func pair(f func(n int) tensor) func(n int) []tensor {
	return func(n int) []tensor { return []tensor{f(n), f(n)} }
}

// oneByOne are the layers whose operands are arguments, not a list.
var oneByOne = regexp.MustCompile(`^(Multi|Group).*Attention$`)

// layersLeftOut are patterns of layers without a row, and why.
var layersLeftOut = []struct {
	class  *regexp.Regexp
	reason string
}{
	{regexp.MustCompile(`^(Random|AugMix|ContrastLimited|RandAugment|CutMix|MixUp|AutoContrast|Equalization|MaxNumBoundingBoxes|Solarization)`), "images of data pipelines, drawn at random"},
	{regexp.MustCompile(`^(StringLookup|IntegerLookup|TextVectorization|Hashing|HashedCrossing)$`), "computed on the host"},
	{regexp.MustCompile(`^(InputLayer|Identity|Masking|ActivityRegularization|Lambda)$`), "compute nothing, or what they are told"},
	{regexp.MustCompile(`(Cell|Cells)$|^(RNN|Bidirectional|TimeDistributed|Wrapper|SpectralNormalization|Pipeline)$`), "are made of other layers"},
	{regexp.MustCompile(`^(STFTSpectrogram|MelSpectrogram)$`), "see stft"},
	{regexp.MustCompile(`^(Normalization|Discretization)$`), "learn from data before they compute"},
	{regexp.MustCompile(`Dropout([123]D)?$|^GaussianNoise$`), "draw at random, with other generators on every backend"},
	{regexp.MustCompile(`^(Flatten|Reshape)$`), "compute nothing: a view"},
}

// layerLeftOut tells why a layer has no row, or is "".
func layerLeftOut(class string) string {
	for _, l := range layersLeftOut {
		if l.class.MatchString(class) {
			return l.reason
		}
	}
	return ""
}

// layerClasses are the layers of Keras that the registry has, without those of operations and of users.
func layerClasses() (classes []string) {
	for _, name := range layers.ClassNames() {
		if !strings.Contains(name, ">") {
			classes = append(classes, name)
		}
	}
	return classes
}

// layerCase returns the call of a layer with about n elements.
func layerCase(class string, n int) benchmark {
	b := benchmark{Name: "layers." + class, Layer: class, Config: map[string]any{}}
	for _, c := range configurations {
		if c.class.MatchString(class) {
			b.Config = c.config
			break
		}
	}
	inputs := single(rows)
	switch {
	case layerInputs[class] != nil:
		inputs = layerInputs[class]
	case strings.HasPrefix(class, "ConvLSTM3D"):
		inputs = single(func(n int) tensor { return floats(max(n/(4*8*8*8*8), 1), 4, 8, 8, 8, 8) })
	case strings.HasSuffix(class, "3D"), strings.HasSuffix(class, "3DTranspose"):
		inputs = single(volumes)
	case strings.HasPrefix(class, "ConvLSTM1D"):
		inputs = single(func(n int) tensor { return floats(max(n/(8*32*16), 1), 8, 32, 16) })
	case strings.HasPrefix(class, "ConvLSTM2D"):
		inputs = single(func(n int) tensor { return floats(max(n/(4*16*16*16), 1), 4, 16, 16, 16) })
	case strings.Contains(class, "1D"):
		inputs = single(sequences)
	case strings.Contains(class, "2D"):
		inputs = single(images)
	}
	b.Arguments = layerArguments(class, inputs(n))
	return b
}

// layerArguments are the operands as arguments: one by one, or as a list.
func layerArguments(class string, list []tensor) (arguments []argument) {
	if !oneByOne.MatchString(class) && len(list) > 1 {
		return []argument{{Tensors: list, List: true}}
	}
	for _, t := range list {
		arguments = append(arguments, one(t))
	}
	return arguments
}

// layerProgram traces the layer, and with gradients also those of its first result, for inputs and weights. The weights
// are inputs.
func (b *benchmark) layerProgram(gradients bool) (p *ir.Program, err error) {
	defer ops.Catch(&err)
	object, err := json.Marshal(map[string]any{"class_name": b.Layer, "config": b.Config})
	if err != nil {
		return nil, err
	}
	l, err := layers.FromObject(object)
	if err != nil {
		return nil, err
	}
	for _, built := range []bool{false, true} { // the first call makes the weights
		batch := b.Arguments[0].Tensors[0].Shape[0]
		replica := distribute.NewReplica("layer", 1, batch, batch)
		g := replica.Graph()
		var in, sources []*ops.Tensor
		for i, a := range b.Arguments {
			for j, t := range a.Tensors {
				d, err := ir.ParseDType(t.DType)
				if err != nil {
					return nil, err
				}
				in = append(in, g.Input(fmt.Sprintf("x%d.%d", i, j), d, t.Shape...))
				if d.IsFloat() {
					sources = append(sources, in[len(in)-1])
				}
			}
		}
		for _, v := range layers.TrainableWeights(l) {
			sources = append(sources, replica.Read(v))
		}
		c := replica.Inference()
		if b.Training {
			c = replica.Training()
		}
		results := layers.InvokeAll(l, c, in...)
		if !built {
			continue
		}
		if p, err = finish(g, results, sources, gradients); err != nil {
			return nil, err
		}
	}
	return p, nil
}
