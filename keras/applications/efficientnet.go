package applications

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/initializers"
)

// efficientNet describes one network of the family.
type efficientNet struct {
	name         string
	width, depth float64 // factors for the numbers of filters and blocks
	size         int
	dropout      float64
	hashes       [2]string // of the files with and without top
}

// mobileStage is a number of equal blocks, the first of which may have a stride.
type mobileStage struct {
	size, repeats, in, out, expand, stride int
	fused                                  bool // the convolution itself expands
	excite                                 float64
}

var efficientNetStages = []mobileStage{
	{3, 1, 32, 16, 1, 1, false, 0.25}, {3, 2, 16, 24, 6, 2, false, 0.25}, {5, 2, 24, 40, 6, 2, false, 0.25}, {3, 3, 40, 80, 6, 2, false, 0.25},
	{5, 3, 80, 112, 6, 1, false, 0.25}, {5, 4, 112, 192, 6, 2, false, 0.25}, {3, 1, 192, 320, 6, 1, false, 0.25},
}

// The initializers of the family.
func efficientConvInitializer() any {
	return &initializers.VarianceScaling{Scale: 2, Mode: initializers.FanOut, Distribution: "truncated_normal"}
}

func efficientDenseInitializer() any {
	return &initializers.VarianceScaling{Scale: 1.0 / 3, Mode: initializers.FanOut, Distribution: "uniform"}
}

// NewEfficientNetB0 returns the baseline network of Tan and Le, "EfficientNet: Rethinking Model Scaling for
// Convolutional Neural Networks", 2019 (arXiv:1905.11946), table 1: the blocks of [NewMobileNetV2] with x·sigmoid(x) as
// activation and squeeze-and-excite
//
//	y = x · sigmoid(w₂·silu(w₁·mean(x) + b₁) + b₂)
//
// in each, and with whole blocks dropped at random in training.
//
// Input: (batch, height, width, 3), at least 32x32, by default 224x224, with values from 0 to 255: scaling is part of
// the model. Output: (batch, classes); with NoTop the last feature map (batch, height/32, width/32, 1280) or its
// pooling. Structure and defaults are those of keras.applications.EfficientNetB0.
func NewEfficientNetB0(o Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNet{"efficientnetb0", 1, 1, 224, 0.2, [2]string{"902e53a9f72be733fc0bcb005b3ebbac", "50bc09e76180e00e4465e1a485ddc09d"}}.build(o, extra)
}

// NewEfficientNetB1 is [NewEfficientNetB0] with 1.1 times the blocks, for 240x240, keras.applications.EfficientNetB1.
func NewEfficientNetB1(o Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNet{"efficientnetb1", 1, 1.1, 240, 0.2, [2]string{"1d254153d4ab51201f1646940f018540", "74c4e6b3e1f6a1eea24c589628592432"}}.build(o, extra)
}

// NewEfficientNetB2 is [NewEfficientNetB0] with 1.1 times the filters and 1.2 times the blocks, for 260x260,
// keras.applications.EfficientNetB2.
func NewEfficientNetB2(o Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNet{"efficientnetb2", 1.1, 1.2, 260, 0.3, [2]string{"b15cce36ff4dcbd00b6dd88e7857a6ad", "111f8e2ac8aa800a7a99e3239f7bfb39"}}.build(o, extra)
}

// NewEfficientNetB3 is [NewEfficientNetB0] with 1.2 times the filters and 1.4 times the blocks, for 300x300,
// keras.applications.EfficientNetB3.
func NewEfficientNetB3(o Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNet{"efficientnetb3", 1.2, 1.4, 300, 0.3, [2]string{"ffd1fdc53d0ce67064dc6a9c7960ede0", "af6d107764bb5b1abb91932881670226"}}.build(o, extra)
}

// NewEfficientNetB4 is [NewEfficientNetB0] with 1.4 times the filters and 1.8 times the blocks, for 380x380,
// keras.applications.EfficientNetB4.
func NewEfficientNetB4(o Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNet{"efficientnetb4", 1.4, 1.8, 380, 0.4, [2]string{"18c95ad55216b8f92d7e70b3a046e2fc", "ebc24e6d6c33eaebbd558eafbeedf1ba"}}.build(o, extra)
}

// NewEfficientNetB5 is [NewEfficientNetB0] with 1.6 times the filters and 2.2 times the blocks, for 456x456,
// keras.applications.EfficientNetB5.
func NewEfficientNetB5(o Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNet{"efficientnetb5", 1.6, 2.2, 456, 0.4, [2]string{"ace28f2a6363774853a83a0b21b9421a", "38879255a25d3c92d5e44e04ae6cec6f"}}.build(o, extra)
}

// NewEfficientNetB6 is [NewEfficientNetB0] with 1.8 times the filters and 2.6 times the blocks, for 528x528,
// keras.applications.EfficientNetB6.
func NewEfficientNetB6(o Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNet{"efficientnetb6", 1.8, 2.6, 528, 0.5, [2]string{"165f6e37dce68623721b423839de8be5", "9ecce42647a20130c1f39a5d4cb75743"}}.build(o, extra)
}

// NewEfficientNetB7 is [NewEfficientNetB0] with 2 times the filters and 3.1 times the blocks, for 600x600,
// keras.applications.EfficientNetB7.
func NewEfficientNetB7(o Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNet{"efficientnetb7", 2, 3.1, 600, 0.5, [2]string{"8c03f828fec3ef71311cd463b6759d99", "cbcfe4450ddf6f3ad90b1b398090fe4a"}}.build(o, extra)
}

func (e efficientNet) build(o Options, extra []keras.Option) (*keras.Model, error) {
	m, err := e.model(o, extra)
	if err != nil {
		return nil, failed(e.name, err)
	}
	return m, nil
}

func (e efficientNet) filters(n int) int { return divisible(float64(float64(n)*e.width), 8) }
func (e efficientNet) repeats(n int) int { return int(math.Ceil(float64(e.depth * float64(n)))) }

func (e efficientNet) model(o Options, extra []keras.Option) (*keras.Model, error) {
	n, err := begin(o, extra, sizes{e.size, 32})
	if err != nil {
		return nil, err
	}
	n.initializer = efficientConvInitializer()
	x := layers.Apply(&layers.Rescaling{Scale: []float64{1.0 / 255}}, n.input)
	x = layers.Apply(&layers.Normalization{Axis: []int{n.axis}}, x)
	if o.Weights == ImageNet {
		x = layers.Apply(&layers.Rescaling{Scale: []float64{1 / math.Sqrt(0.229), 1 / math.Sqrt(0.224), 1 / math.Sqrt(0.225)}}, x)
	}
	x = n.pad(x, "stem_conv_pad", n.correctPad(x, 3))
	x = n.conv(x, "stem_conv", e.filters(32), 3, conv{stride: 2, noBias: true})
	x = n.swish(n.norm(x, "stem_bn"), "stem_activation")
	blocks, done := 0, 0
	for _, s := range efficientNetStages {
		blocks += e.repeats(s.repeats)
	}
	for i, s := range efficientNetStages {
		s.in, s.out = e.filters(s.in), e.filters(s.out)
		for j := range e.repeats(s.repeats) {
			if j > 0 {
				s.stride, s.in = 1, s.out
			}
			x = n.mobile(x, fmt.Sprintf("block%d%c_", i+1, 'a'+j), s, float64(0.2*float64(done))/float64(blocks))
			done++
		}
	}
	x = n.conv(x, "top_conv", e.filters(1280), 1, conv{same: true, noBias: true})
	x = n.swish(n.norm(x, "top_bn"), "top_activation")
	return n.finish(n.efficientTop(x, e.dropout, nil), e.name, efficientFile(e.name, "/keras-applications/", o.NoTop, e.hashes))
}

func efficientFile(name, folder string, noTop bool, hashes [2]string) published {
	file, hash := name+".h5", hashes[0]
	if noTop {
		file, hash = name+"_notop.h5", hashes[1]
	}
	return published{name: file, path: folder + file, hash: hash}
}

// efficientTop is the end of the networks of both versions.
func (n *network) efficientTop(x symbol, dropout float64, bias any) symbol {
	if n.options.NoTop {
		return n.globalPool(x, "avg_pool", "max_pool")
	}
	x = n.globalAverage(x, "avg_pool")
	if dropout > 0 {
		x = layers.Apply(&layers.Dropout{Name: "top_dropout", Rate: dropout}, x)
	}
	return layers.Apply(&layers.Dense{Name: "predictions", Units: n.options.classes(), Activation: n.options.activation(),
		KernelInitializer: efficientDenseInitializer(), BiasInitializer: bias}, x)
}

func (n *network) swish(x symbol, name string) symbol { return n.activation(x, name, "swish") }

// mobile is an inverted residual block with squeeze-and-excite.
func (n *network) mobile(x symbol, name string, s mobileStage, drop float64) symbol {
	before, filters := x, s.in*s.expand
	if s.expand != 1 {
		x = n.conv(x, name+"expand_conv", filters, 1, conv{same: true, noBias: true})
		x = n.swish(n.norm(x, name+"expand_bn"), name+"expand_activation")
	}
	if s.stride == 2 {
		x = n.pad(x, name+"dwconv_pad", n.correctPad(x, s.size))
	}
	x = n.depthwise(x, name+"dwconv", s.size, conv{stride: s.stride, same: s.stride != 2, noBias: true})
	x = n.swish(n.norm(x, name+"bn"), name+"activation")
	x = n.exciteSwish(x, name, filters, max(1, int(float64(s.in)*s.excite)))
	x = n.conv(x, name+"project_conv", s.out, 1, conv{same: true, noBias: true})
	x = n.norm(x, name+"project_bn")
	if s.stride == 1 && s.in == s.out {
		x = n.add(name+"add", n.dropBlock(x, name+"drop", drop), before)
	}
	return x
}

// dropBlock drops the whole result of some examples of a batch (stochastic depth).
func (n *network) dropBlock(x symbol, name string, rate float64) symbol {
	if rate == 0 {
		return x
	}
	return layers.Apply(&layers.Dropout{Name: name, Rate: rate, NoiseShape: []int{layers.Unknown, 1, 1, 1}}, x)
}

func (n *network) exciteSwish(x symbol, name string, filters, squeezed int) symbol {
	shape := []int{1, 1, filters}
	if n.options.first() {
		shape = []int{filters, 1, 1}
	}
	s := n.globalAverage(x, name+"se_squeeze")
	s = layers.Apply(&layers.Reshape{Name: name + "se_reshape", TargetShape: shape}, s)
	s = n.conv(s, name+"se_reduce", squeezed, 1, conv{same: true, activation: "swish"})
	s = n.conv(s, name+"se_expand", filters, 1, conv{same: true, activation: "sigmoid"})
	return layers.Apply(&layers.Multiply{Name: name + "se_excite"}, x, s)
}
