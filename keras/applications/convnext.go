package applications

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/initializers"
)

// LayerScale multiplies each channel by a trained factor:
//
//	y[..., c] = x[..., c] · gamma[c]
//
// Input shape: (..., channels). Output shape: the same. Weights: gamma (channels). It is
// keras.src.applications.convnext.LayerScale, from Touvron et al., "Going deeper with Image Transformers", 2021
// (arXiv:2103.17239), equation 4; each block of [NewConvNeXtTiny] has one.
type LayerScale struct {
	layers.Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	InitValues    float64 `keras:"init_values"`    // initial value of the factors
	ProjectionDim int     `keras:"projection_dim"` // number of channels; required

	gamma *distribute.Variable
}

// Module returns the Python module of the class.
func (*LayerScale) Module() string { return "keras.src.applications.convnext" }

// Build creates the factors.
func (l *LayerScale) Build(b *layers.Builder, in []ir.Shape) {
	l.gamma = b.AddWeight("gamma", ir.Shape{l.ProjectionDim}, layers.WeightOptions{Initializer: &initializers.Constant{Value: l.InitValues}})
}

// Forward computes the layer.
func (l *LayerScale) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Multiply(in[0], c.Weight(l.gamma))}
}

func init() { layers.Register[LayerScale]() }

// ConvNeXtOptions are the options of the constructors NewConvNeXtTiny to NewConvNeXtXLarge.
type ConvNeXtOptions struct {
	Options

	NoPreprocessing bool // leave out the layer that scales values from 0 to 255, because the images are scaled already
}

// convNeXt describes one network of the family.
type convNeXt struct {
	name   string
	depths [4]int
	width  int       // channels of the first stage; each following stage doubles them
	hashes [2]string // of the files with and without top
}

// NewConvNeXtTiny returns the network ConvNeXt-T of Liu et al., "A ConvNet for the 2020s", 2022 (arXiv:2201.03545),
// section 2 and table 9: four stages of 3, 3, 9 and 3 blocks
//
//	y = x + scale · w₂·gelu(w₁·layer_norm(depthwise 7x7(x)))
//
// with 96, 192, 384 and 768 channels, a convolution of 4x4 with stride 4 before them and of 2x2 with stride 2 between
// them.
//
// Input: (batch, height, width, 3), at least 32x32, by default 224x224, with values from 0 to 255: scaling is part of
// the model unless NoPreprocessing is set. Output: (batch, classes); with NoTop the normalized last feature map (batch,
// height/32, width/32, 768) or its pooling. Structure and defaults are those of keras.applications.ConvNeXtTiny, which
// like this one takes no DataFormat ChannelsFirst.
func NewConvNeXtTiny(o ConvNeXtOptions, extra ...keras.Option) (*keras.Model, error) {
	return convNeXt{"convnext_tiny", [4]int{3, 3, 9, 3}, 96, [2]string{"8ae6e78ce2933352b1ef4008e6dd2f17bc40771563877d156bc6426c7cf503ff", "d547c096cabd03329d7be5562c5e14798aa39ed24b474157cef5e85ab9e49ef1"}}.build(o, extra)
}

// NewConvNeXtSmall is [NewConvNeXtTiny] with 27 blocks in the third stage, keras.applications.ConvNeXtSmall.
func NewConvNeXtSmall(o ConvNeXtOptions, extra ...keras.Option) (*keras.Model, error) {
	return convNeXt{"convnext_small", [4]int{3, 3, 27, 3}, 96, [2]string{"ce1277d8f1ee5a0ef0e171469089c18f5233860ceaf9b168049cb9263fd7483c", "6fc8009faa2f00c1c1dfce59feea9b0745eb260a7dd11bee65c8e20843da6eab"}}.build(o, extra)
}

// NewConvNeXtBase is [NewConvNeXtSmall] with 128 channels in the first stage, keras.applications.ConvNeXtBase.
func NewConvNeXtBase(o ConvNeXtOptions, extra ...keras.Option) (*keras.Model, error) {
	return convNeXt{"convnext_base", [4]int{3, 3, 27, 3}, 128, [2]string{"52cbb006d3dadd03f6e095a8ca1aca47aecdd75acb4bc74bce1f5c695d0086e6", "40a20c5548a5e9202f69735ecc06c990e6b7c9d2de39f0361e27baeb24cb7c45"}}.build(o, extra)
}

// NewConvNeXtLarge is [NewConvNeXtSmall] with 192 channels in the first stage, keras.applications.ConvNeXtLarge.
func NewConvNeXtLarge(o ConvNeXtOptions, extra ...keras.Option) (*keras.Model, error) {
	return convNeXt{"convnext_large", [4]int{3, 3, 27, 3}, 192, [2]string{"070c5ed9ed289581e477741d3b34beffa920db8cf590899d6d2c67fba2a198a6", "96f02b6f0753d4f543261bc9d09bed650f24dd6bc02ddde3066135b63d23a1cd"}}.build(o, extra)
}

// NewConvNeXtXLarge is [NewConvNeXtSmall] with 256 channels in the first stage, keras.applications.ConvNeXtXLarge.
func NewConvNeXtXLarge(o ConvNeXtOptions, extra ...keras.Option) (*keras.Model, error) {
	return convNeXt{"convnext_xlarge", [4]int{3, 3, 27, 3}, 256, [2]string{"c1f5ccab661354fc3a79a10fa99af82f0fbf10ec65cb894a3ae0815f17a889ee", "de3f8a54174130e0cecdc71583354753d557fcf1f4487331558e2a16ba0cfe05"}}.build(o, extra)
}

func (v convNeXt) build(o ConvNeXtOptions, extra []keras.Option) (*keras.Model, error) {
	m, err := v.model(o, extra)
	if err != nil {
		return nil, failed(v.name, err)
	}
	return m, nil
}

func (v convNeXt) model(o ConvNeXtOptions, extra []keras.Option) (*keras.Model, error) {
	if o.first() {
		return nil, errChannelsLast
	}
	n, err := begin(o.Options, extra, sizes{224, 32})
	if err != nil {
		return nil, err
	}
	name := v.name
	if o.Name != "" {
		name = o.Name // layers include it in their names
	}
	x := n.input
	if !o.NoPreprocessing && n.shape[2] == 3 {
		x = preStem(x, name)
	}
	for i, depth := range v.depths {
		x = v.down(n, x, name, i)
		for j := range depth {
			x = n.convNeXtBlock(x, fmt.Sprintf("%s_stage_%d_block_%d", name, i, j), v.width<<i)
		}
	}
	if o.NoTop {
		x = n.layerNorm(n.globalPool(x, "", ""), "")
	} else {
		x = n.layerNorm(n.globalAverage(x, name+"_head_gap"), name+"_head_layernorm")
		x = layers.Apply(&layers.Dense{Name: name + "_head_dense", Units: o.classes(), Activation: o.activation()}, x)
	}
	return n.finish(x, name, efficientFile(v.name, "/tensorflow/keras-applications/convnext/", o.NoTop, v.hashes))
}

// preStem scales by the mean and deviation of ImageNet's pixels.
func preStem(x symbol, name string) symbol {
	mean, variance := make([]float64, 3), make([]float64, 3)
	for i := range mean {
		deviation := imageNetDeviation[i] * 255
		mean[i], variance[i] = imageNetMean[i]*255, float64(deviation*deviation)
	}
	return layers.Apply(&layers.Normalization{Name: name + "_prestem_normalization", Mean: mean, Variance: variance}, x)
}

// down begins a stage: a nested model that reduces height and width.
func (v convNeXt) down(n *network, x symbol, name string, stage int) symbol {
	members, model := []layers.Layer{
		&layers.Conv2D{Name: name + "_stem_conv", Filters: v.width, KernelSize: square(4), Strides: square(4)},
		&layers.LayerNormalization{Name: name + "_stem_layernorm", Epsilon: new(1e-6)},
	}, name+"_stem"
	if stage > 0 {
		members, model = []layers.Layer{
			&layers.LayerNormalization{Name: fmt.Sprintf("%s_downsampling_layernorm_%d", name, stage-1), Epsilon: new(1e-6)},
			&layers.Conv2D{Name: fmt.Sprintf("%s_downsampling_conv_%d", name, stage-1), Filters: v.width << stage, KernelSize: square(2), Strides: square(2)},
		}, fmt.Sprintf("%s_downsampling_block_%d", name, stage-1)
	}
	if x.Err() != nil {
		return x
	}
	m, err := keras.NewSequential(members, append(slices.Clone(n.extra), keras.Name(model), keras.InputShape(x.Shape()[1:]...))...)
	if err != nil {
		return layers.Failed(err)
	}
	m.Inputs()[0].SetName(fmt.Sprintf("input_layer_%d", stage+1)) // Keras continues the numbering from the outer model's input
	return layers.Apply(m, x)
}

func (n *network) layerNorm(x symbol, name string) symbol {
	return layers.Apply(&layers.LayerNormalization{Name: name, Epsilon: new(1e-6)}, x)
}

func (n *network) convNeXtBlock(x symbol, name string, filters int) symbol {
	y := n.conv(x, name+"_depthwise_conv", filters, 7, conv{same: true, groups: filters})
	y = n.layerNorm(y, name+"_layernorm")
	y = layers.Apply(&layers.Dense{Name: name + "_pointwise_conv_1", Units: 4 * filters}, y)
	y = n.activation(y, name+"_gelu", "gelu")
	y = layers.Apply(&layers.Dense{Name: name + "_pointwise_conv_2", Units: filters}, y)
	y = layers.Apply(&LayerScale{Name: name + "_layer_scale", InitValues: 1e-6, ProjectionDim: filters}, y)
	return layers.Op("add", x, n.activation(y, name+"_identity", "linear"))
}
