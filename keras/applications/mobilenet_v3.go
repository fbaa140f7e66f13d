package applications

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// MobileNetV3Options are the options of [NewMobileNetV3Small] and [NewMobileNetV3Large].
type MobileNetV3Options struct {
	Options

	Alpha           float64  // width: the factor for all numbers of filters; 0 is 1. ImageNet weights exist for 0.75 and 1
	Minimalistic    bool     // without squeeze-and-excite, hard-swish and 5x5 windows, for hardware that is slow with them
	DropoutRate     *float64 // before the top; nil is 0.2
	NoPreprocessing bool     // leave out the layer that scales 0 to 255 to -1 to 1, because the images are scaled already
}

// mobileNetV3 describes one of the two networks.
type mobileNetV3 struct {
	name, kind string
	last       int // filters of the convolution before the classifier
	blocks     []mobileNetV3Block
	hashes     map[string][2]string // of the files with and without top
}

// mobileNetV3Block is a row of the tables in the paper. Large windows are 5x5. In a minimalistic network windows,
// excitation and activation are the plain ones.
type mobileNetV3Block struct {
	expansion float64
	filters   int
	large     bool
	stride    int
	excite    bool
	swish     bool
}

var mobileNetV3Small = mobileNetV3{"MobileNetV3Small", "small", 1024, []mobileNetV3Block{
	{1, 16, false, 2, true, false}, {72.0 / 16, 24, false, 2, false, false}, {88.0 / 24, 24, false, 1, false, false},
	{4, 40, true, 2, true, true}, {6, 40, true, 1, true, true}, {6, 40, true, 1, true, true}, {3, 48, true, 1, true, true},
	{3, 48, true, 1, true, true}, {6, 96, true, 2, true, true}, {6, 96, true, 1, true, true}, {6, 96, true, 1, true, true},
}, map[string][2]string{
	"small_224_0.75_float":             {"cb65d4e5be93758266aa0a7f2c6708b7", "ebdb5cc8e0b497cd13a7c275d475c819"},
	"small_224_1.0_float":              {"8768d4c2e7dee89b9d02b2d03d65d862", "d3e8ec802a04aa4fc771ee12a9a9b836"},
	"small_minimalistic_224_1.0_float": {"99cd97fb2fcdad2bf028eb838de69e37", "cde8136e733e811080d9fcd8a252f7e4"},
}}

var mobileNetV3Large = mobileNetV3{"MobileNetV3Large", "large", 1280, []mobileNetV3Block{
	{1, 16, false, 1, false, false}, {4, 24, false, 2, false, false}, {3, 24, false, 1, false, false}, {3, 40, true, 2, true, false},
	{3, 40, true, 1, true, false}, {3, 40, true, 1, true, false}, {6, 80, false, 2, false, true}, {2.5, 80, false, 1, false, true},
	{2.3, 80, false, 1, false, true}, {2.3, 80, false, 1, false, true}, {6, 112, false, 1, true, true}, {6, 112, false, 1, true, true},
	{6, 160, true, 2, true, true}, {6, 160, true, 1, true, true}, {6, 160, true, 1, true, true},
}, map[string][2]string{
	"large_224_0.75_float":             {"765b44a33ad4005b3ac83185abf1d0eb", "40af19a13ebea4e2ee0c676887f69a2e"},
	"large_224_1.0_float":              {"59e551e166be033d707958cf9e29a6a7", "07fb09a5933dd0c8eaafa16978110389"},
	"large_minimalistic_224_1.0_float": {"675e7b876c45c57e9e63e6d90a36599c", "ec5221f64a2f6d1ef965a614bdae7973"},
}}

// NewMobileNetV3Small returns the small network of Howard et al., "Searching for MobileNetV3", 2019 (arXiv:1905.02244),
// table 2: the blocks of [NewMobileNetV2], with squeeze-and-excite in some,
//
//	y = x · hard_sigmoid(w₂·relu(w₁·mean(x) + b₁) + b₂),  hard_sigmoid(x) = min(max(x + 3, 0), 6) / 6
//
// and x·hard_sigmoid(x) as the activation of the later ones.
//
// Input: (batch, height, width, 3), at least 32x32, of any size by default, with values from 0 to 255. Output: (batch,
// classes); with NoTop the last feature map or its pooling. Structure and defaults are those of
// keras.applications.MobileNetV3Small.
func NewMobileNetV3Small(o MobileNetV3Options, extra ...keras.Option) (*keras.Model, error) {
	return mobileNetV3Small.build(o, extra)
}

// NewMobileNetV3Large returns the large network of the same paper, table 1; see [NewMobileNetV3Small]. Structure and
// defaults are those of keras.applications.MobileNetV3Large.
func NewMobileNetV3Large(o MobileNetV3Options, extra ...keras.Option) (*keras.Model, error) {
	return mobileNetV3Large.build(o, extra)
}

func (v mobileNetV3) build(o MobileNetV3Options, extra []keras.Option) (*keras.Model, error) {
	m, err := v.model(o, extra)
	if err != nil {
		return nil, failed(v.name, err)
	}
	return m, nil
}

func (v mobileNetV3) model(o MobileNetV3Options, extra []keras.Option) (*keras.Model, error) {
	if o.Alpha == 0 {
		o.Alpha = 1
	}
	if o.DropoutRate == nil {
		o.DropoutRate = new(0.2)
	}
	n, err := v.begin(o, extra)
	if err != nil {
		return nil, err
	}
	act := n.hardSwish
	if o.Minimalistic {
		act = n.plainRelu
	}
	x := n.input
	if !o.NoPreprocessing {
		x = layers.Apply(&layers.Rescaling{Scale: []float64{1 / 127.5}, Offset: []float64{-1}}, x)
	}
	x = n.conv(x, "conv", 16, 3, conv{stride: 2, same: true, noBias: true})
	x = act(n.norm(x, "conv_bn"))
	for i, b := range v.blocks {
		x = n.mobileV3(x, i, b, divisible(float64(float64(b.filters)*o.Alpha), 8), o.Minimalistic)
	}
	x = n.conv(x, "conv_1", divisible(float64(n.channels(x)*6), 8), 1, conv{same: true, noBias: true})
	x = act(n.norm(x, "conv_1_bn"))
	if o.NoTop {
		x = n.globalPool(x, "avg_pool", "max_pool")
	} else {
		last := v.last
		if o.Alpha > 1 {
			last = divisible(float64(float64(last)*o.Alpha), 8)
		}
		x = layers.Apply(&layers.GlobalAveragePooling2D{KeepDims: true, DataFormat: o.DataFormat}, x)
		x = act(n.conv(x, "conv_2", last, 1, conv{same: true}))
		if *o.DropoutRate > 0 {
			x = layers.Apply(&layers.Dropout{Rate: *o.DropoutRate}, x)
		}
		x = n.conv(x, "logits", o.classes(), 1, conv{same: true})
		x = layers.Apply(&layers.Flatten{DataFormat: o.DataFormat}, x)
		x = n.activation(x, "predictions", o.activation())
	}
	return n.finish(x, v.name, v.file(o))
}

// begin differs from that of the other families: the size is open by default, even with the top.
func (v mobileNetV3) begin(o MobileNetV3Options, extra []keras.Option) (*network, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	shape, err := o.givenShape()
	if err != nil {
		return nil, err
	}
	at, channels := 0, 2
	if o.first() {
		at, channels = 1, 0
	}
	if shape == nil {
		shape = []int{layers.Unknown, layers.Unknown, layers.Unknown}
		shape[channels] = 3
	}
	if len(shape) != 3 {
		return nil, fmt.Errorf("InputShape must have three lengths, (height, width, channels), received %v", shape)
	}
	if rows, columns := shape[at], shape[at+1]; rows != layers.Unknown && columns != layers.Unknown && min(rows, columns) < 32 {
		return nil, fmt.Errorf("the input must be at least 32x32, received InputShape %v", shape)
	}
	if o.Weights == ImageNet {
		trained := []float64{0.75, 1}
		if o.Minimalistic {
			trained = trained[1:]
		}
		if !slices.Contains(trained, o.Alpha) {
			return nil, fmt.Errorf("with Weights %q, Alpha must be one of %v, received %v", ImageNet, trained, o.Alpha)
		}
	}
	n, err := start(o.Options, extra, shape)
	if err != nil {
		return nil, err
	}
	n.lastAxis()
	n.epsilon, n.momentum = new(0.001), new(0.999)
	return n, nil
}

func (v mobileNetV3) file(o MobileNetV3Options) published {
	model := fmt.Sprintf("%s%s_224_%s_float", v.kind, ifTrue(o.Minimalistic, "_minimalistic"), pythonFloat(o.Alpha))
	name, hash := "weights_mobilenet_v3_"+model+".h5", v.hashes[model][0]
	if o.NoTop {
		name, hash = "weights_mobilenet_v3_"+model+"_no_top_v2.h5", v.hashes[model][1]
	}
	return published{name: name, path: "/tensorflow/keras-applications/mobilenet_v3/" + name, hash: hash}
}

func (n *network) plainRelu(x symbol) symbol { return layers.Apply(&layers.ReLU{}, x) }

func (n *network) hardSwish(x symbol) symbol { return n.activation(x, "", "hard_swish") }

// hardSigmoid returns min(max(x + 3, 0), 6) / 6.
func (n *network) hardSigmoid(x symbol) symbol {
	return layers.Op("multiply", n.relu6(layers.Op("add", x, 3.0), ""), 1.0/6)
}

func (n *network) mobileV3(x symbol, id int, b mobileNetV3Block, filters int, minimalistic bool) symbol {
	prefix, before, in := fmt.Sprintf("expanded_conv_%d_", id), x, n.channels(x)
	size, act := 3, n.plainRelu
	if b.large && !minimalistic {
		size = 5
	}
	if b.swish && !minimalistic {
		act = n.hardSwish
	}
	wide := divisible(float64(float64(in)*b.expansion), 8)
	if id == 0 {
		prefix = "expanded_conv_"
	} else {
		x = n.conv(x, prefix+"expand", wide, 1, conv{same: true, noBias: true})
		x = act(n.norm(x, prefix+"expand_bn"))
	}
	if b.stride == 2 {
		x = n.pad(x, prefix+"depthwise_pad", n.correctPad(x, size))
	}
	x = n.depthwise(x, prefix+"depthwise", size, conv{stride: b.stride, noBias: true, same: b.stride == 1})
	x = act(n.norm(x, prefix+"depthwise_bn"))
	if b.excite && !minimalistic {
		x = n.squeezeExcite(x, wide, prefix+"squeeze_excite_")
	}
	x = n.conv(x, prefix+"project", filters, 1, conv{same: true, noBias: true})
	x = n.norm(x, prefix+"project_bn")
	if b.stride == 1 && in == filters {
		return n.add(prefix+"add", before, x)
	}
	return x
}

func (n *network) squeezeExcite(x symbol, filters int, prefix string) symbol {
	s := layers.Apply(&layers.GlobalAveragePooling2D{Name: prefix + "avg_pool", KeepDims: true, DataFormat: n.options.DataFormat}, x)
	s = n.conv(s, prefix+"conv", divisible(float64(filters)*0.25, 8), 1, conv{same: true})
	s = layers.Apply(&layers.ReLU{Name: prefix + "relu"}, s)
	s = n.conv(s, prefix+"conv_1", filters, 1, conv{same: true})
	return layers.Apply(&layers.Multiply{Name: prefix + "mul"}, x, n.hardSigmoid(s))
}
