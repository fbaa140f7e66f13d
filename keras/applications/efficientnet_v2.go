package applications

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/initializers"
)

// EfficientNetV2Options are the options of the constructors NewEfficientNetV2B0 to NewEfficientNetV2L.
type EfficientNetV2Options struct {
	Options

	NoPreprocessing bool // leave out the layers that scale values from 0 to 255, because the images are scaled already
}

// efficientNetV2 describes one network of the family.
type efficientNetV2 struct {
	name         string
	width, depth float64 // factors for the numbers of filters and blocks
	size         int
	stages       []mobileStage
	hashes       [2]string // of the files with and without top
	base         bool      // B0 to B3, which scale their inputs by channel
}

var efficientNetV2Base = []mobileStage{
	{3, 1, 32, 16, 1, 1, true, 0}, {3, 2, 16, 32, 4, 2, true, 0}, {3, 2, 32, 48, 4, 2, true, 0},
	{3, 3, 48, 96, 4, 2, false, 0.25}, {3, 5, 96, 112, 6, 1, false, 0.25}, {3, 8, 112, 192, 6, 2, false, 0.25},
}

var efficientNetV2S = []mobileStage{
	{3, 2, 24, 24, 1, 1, true, 0}, {3, 4, 24, 48, 4, 2, true, 0}, {3, 4, 48, 64, 4, 2, true, 0},
	{3, 6, 64, 128, 4, 2, false, 0.25}, {3, 9, 128, 160, 6, 1, false, 0.25}, {3, 15, 160, 256, 6, 2, false, 0.25},
}

var efficientNetV2M = []mobileStage{
	{3, 3, 24, 24, 1, 1, true, 0}, {3, 5, 24, 48, 4, 2, true, 0}, {3, 5, 48, 80, 4, 2, true, 0}, {3, 7, 80, 160, 4, 2, false, 0.25},
	{3, 14, 160, 176, 6, 1, false, 0.25}, {3, 18, 176, 304, 6, 2, false, 0.25}, {3, 5, 304, 512, 6, 1, false, 0.25},
}

var efficientNetV2L = []mobileStage{
	{3, 4, 32, 32, 1, 1, true, 0}, {3, 7, 32, 64, 4, 2, true, 0}, {3, 7, 64, 96, 4, 2, true, 0}, {3, 10, 96, 192, 4, 2, false, 0.25},
	{3, 19, 192, 224, 6, 1, false, 0.25}, {3, 25, 224, 384, 6, 2, false, 0.25}, {3, 7, 384, 640, 6, 1, false, 0.25},
}

// NewEfficientNetV2B0 returns the smallest network in the style of Tan and Le, "EfficientNetV2: Smaller Models and
// Faster Training", 2021 (arXiv:2104.00298): [NewEfficientNetB0] whose first three stages widen with one 3x3
// convolution in place of a 1x1 and a depthwise one (Fused-MBConv) and have no squeeze-and-excite.
//
// Input: (batch, height, width, 3), at least 32x32, by default 224x224, with values from 0 to 255: scaling is part of
// the model unless NoPreprocessing is set. Output: (batch, classes); with NoTop the last feature map (batch, height/32,
// width/32, 1280) or its pooling. Structure and defaults are those of keras.applications.EfficientNetV2B0.
func NewEfficientNetV2B0(o EfficientNetV2Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNetV2{"efficientnetv2-b0", 1, 1, 224, efficientNetV2Base, [2]string{"21ecbf6da12460d5c40bb2f29ceb2188", "893217f2bb855e2983157299931e43ff"}, true}.build(o, extra)
}

// NewEfficientNetV2B1 is [NewEfficientNetV2B0] with 1.1 times the blocks, for 240x240,
// keras.applications.EfficientNetV2B1.
func NewEfficientNetV2B1(o EfficientNetV2Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNetV2{"efficientnetv2-b1", 1, 1.1, 240, efficientNetV2Base, [2]string{"069f0534ff22adf035c89e2d9547a9dc", "0e80663031ca32d657f9caa404b6ec37"}, true}.build(o, extra)
}

// NewEfficientNetV2B2 is [NewEfficientNetV2B0] with 1.1 times the filters and 1.2 times the blocks, for 260x260,
// keras.applications.EfficientNetV2B2.
func NewEfficientNetV2B2(o EfficientNetV2Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNetV2{"efficientnetv2-b2", 1.1, 1.2, 260, efficientNetV2Base, [2]string{"424e49f28180edbde1e94797771950a7", "1dfe2e7a5d45b6632553a8961ea609eb"}, true}.build(o, extra)
}

// NewEfficientNetV2B3 is [NewEfficientNetV2B0] with 1.2 times the filters and 1.4 times the blocks, for 300x300,
// keras.applications.EfficientNetV2B3.
func NewEfficientNetV2B3(o EfficientNetV2Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNetV2{"efficientnetv2-b3", 1.2, 1.4, 300, efficientNetV2Base, [2]string{"1f1fc43bd98a6e4fd8fdfd551e02c7a0", "f6abf7b5849ac99a89b50dd3fd532856"}, true}.build(o, extra)
}

// NewEfficientNetV2S returns the small network of the same paper, table 4, for 384x384,
// keras.applications.EfficientNetV2S.
func NewEfficientNetV2S(o EfficientNetV2Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNetV2{"efficientnetv2-s", 1, 1, 384, efficientNetV2S, [2]string{"e1d88a8495beba45748fedd0cecbe016", "af0682fb74e8c54910f2d4393339c070"}, false}.build(o, extra)
}

// NewEfficientNetV2M returns the medium network of the same paper, for 480x480, keras.applications.EfficientNetV2M.
func NewEfficientNetV2M(o EfficientNetV2Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNetV2{"efficientnetv2-m", 1, 1, 480, efficientNetV2M, [2]string{"a3bf6aa3276309f4fc6a34aa114c95cd", "1b8dc055df72dde80d614482840fe342"}, false}.build(o, extra)
}

// NewEfficientNetV2L returns the large network of the same paper, for 480x480, keras.applications.EfficientNetV2L.
func NewEfficientNetV2L(o EfficientNetV2Options, extra ...keras.Option) (*keras.Model, error) {
	return efficientNetV2{"efficientnetv2-l", 1, 1, 480, efficientNetV2L, [2]string{"27e6d408b53c7ebc868fefa357689935", "b0b66b5c863aef5b46e8608fe1711615"}, false}.build(o, extra)
}

func (e efficientNetV2) build(o EfficientNetV2Options, extra []keras.Option) (*keras.Model, error) {
	m, err := e.model(o, extra)
	if err != nil {
		return nil, failed(e.name, err)
	}
	return m, nil
}

// filters rounds to a multiple of 8. Unlike in the first version, the result may be smaller by any amount.
func (e efficientNetV2) filters(n int) int {
	return max(8, int(float64(float64(n)*e.width)+4)/8*8)
}

func (e efficientNetV2) repeats(n int) int { return int(math.Ceil(float64(e.depth * float64(n)))) }

func (e efficientNetV2) model(o EfficientNetV2Options, extra []keras.Option) (*keras.Model, error) {
	n, err := begin(o.Options, extra, sizes{e.size, 32})
	if err != nil {
		return nil, err
	}
	n.initializer, n.momentum = efficientConvInitializer(), new(0.9)
	x := n.input
	if !o.NoPreprocessing {
		x = e.scale(n, x)
	}
	x = n.conv(x, "stem_conv", e.filters(e.stages[0].in), 3, conv{stride: 2, same: true, noBias: true})
	x = n.swish(n.norm(x, "stem_bn"), "stem_activation")
	blocks, done := 0, 0
	for _, s := range e.stages {
		blocks += s.repeats
	}
	for i, s := range e.stages {
		s.in, s.out = e.filters(s.in), e.filters(s.out)
		for j := range e.repeats(s.repeats) {
			if j > 0 {
				s.stride, s.in = 1, s.out
			}
			block := n.mobileV2
			if s.fused {
				block = n.fusedMobile
			}
			x = block(x, fmt.Sprintf("block%d%c_", i+1, 'a'+j), s, float64(0.2*float64(done))/float64(blocks))
			done++
		}
	}
	x = n.conv(x, "top_conv", e.filters(1280), 1, conv{same: true, noBias: true})
	x = n.swish(n.norm(x, "top_bn"), "top_activation")
	x = n.efficientTop(x, 0.2, &initializers.Constant{})
	return n.finish(x, e.name, efficientFile(e.name, "/tensorflow/keras-applications/efficientnet_v2/", o.NoTop, e.hashes))
}

// scale converts values from 0 to 255 to numbers around 0.
func (e efficientNetV2) scale(n *network, x symbol) symbol {
	if !e.base || n.shape[n.axis-1] != 3 {
		return layers.Apply(&layers.Rescaling{Scale: []float64{1 / 128.0}, Offset: []float64{-1}}, x)
	}
	x = layers.Apply(&layers.Rescaling{Scale: []float64{1.0 / 255}}, x)
	variance := make([]float64, 3)
	for i, deviation := range imageNetDeviation {
		variance[i] = deviation * deviation
	}
	return layers.Apply(&layers.Normalization{Mean: imageNetMean[:], Variance: variance, Axis: []int{n.axis}}, x)
}

// mobileV2 is an inverted residual block with squeeze-and-excite, padded as in Keras and not as in [network.mobile].
func (n *network) mobileV2(x symbol, name string, s mobileStage, drop float64) symbol {
	before, filters := x, s.in*s.expand
	if s.expand != 1 {
		x = n.conv(x, name+"expand_conv", filters, 1, conv{same: true, noBias: true})
		x = n.swish(n.norm(x, name+"expand_bn"), name+"expand_activation")
	}
	x = n.depthwise(x, name+"dwconv2", s.size, conv{stride: s.stride, same: true, noBias: true})
	x = n.swish(n.norm(x, name+"bn"), name+"activation")
	if s.excite > 0 {
		x = n.exciteSwish(x, name, filters, max(1, int(float64(s.in)*s.excite)))
	}
	x = n.conv(x, name+"project_conv", s.out, 1, conv{same: true, noBias: true})
	return n.addBlock(before, n.norm(x, name+"project_bn"), name, s, drop)
}

// fusedMobile is an inverted residual block that widens with the spatial convolution.
func (n *network) fusedMobile(x symbol, name string, s mobileStage, drop float64) symbol {
	before, size, stride := x, s.size, s.stride
	if s.expand != 1 {
		x = n.conv(x, name+"expand_conv", s.in*s.expand, size, conv{stride: stride, same: true, noBias: true})
		x = n.swish(n.norm(x, name+"expand_bn"), name+"expand_activation")
		size, stride = 1, 1
	}
	x = n.conv(x, name+"project_conv", s.out, size, conv{stride: stride, same: true, noBias: true})
	x = n.norm(x, name+"project_bn")
	if s.expand == 1 {
		x = n.swish(x, name+"project_activation")
	}
	return n.addBlock(before, x, name, s, drop)
}

func (n *network) addBlock(before, x symbol, name string, s mobileStage, drop float64) symbol {
	if s.stride != 1 || s.in != s.out {
		return x
	}
	return n.add(name+"add", n.dropBlock(x, name+"drop", drop), before)
}
