package applications

import (
	"fmt"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// CustomScaleLayer adds its second input to the first, scaled:
//
//	y = x₀ + Scale·x₁
//
// Input shapes: two equal ones. Output shape: the same. It is
// keras.src.applications.inception_resnet_v2.CustomScaleLayer; each block of [NewInceptionResNetV2] has one.
type CustomScaleLayer struct {
	layers.Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Scale float64 `keras:"scale"` // the factor
}

// Module returns the Python module of the class.
func (*CustomScaleLayer) Module() string { return "keras.src.applications.inception_resnet_v2" }

// Forward computes the layer.
func (l *CustomScaleLayer) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	if len(in) != 2 {
		ops.Failf(c.Graph(), "needs two inputs, received %d", len(in))
	}
	return []*ops.Tensor{ops.Add(in[0], ops.MultiplyScalar(in[1], l.Scale))}
}

func init() { layers.Register[CustomScaleLayer]() }

// NewInceptionResNetV2 returns the network of Szegedy et al., "Inception-v4, Inception-ResNet and the Impact of
// Residual Connections on Learning", 2016 (arXiv:1602.07261), figure 15: the beginning of [NewInceptionV3], then 10, 20
// and 10 blocks of parallel convolutions that a 1x1 convolution joins and that are added, scaled by 0.17, 0.1 and 0.2,
// to what came before.
//
// Input: (batch, height, width, 3), at least 75x75, by default 299x299, prepared by InceptionResNetV2.PreprocessInput.
// Output: (batch, classes); with NoTop the last feature map (batch, height', width', 1536), 8x8 for the default size,
// or its pooling. Structure and defaults are those of keras.applications.InceptionResNetV2.
func NewInceptionResNetV2(o Options, extra ...keras.Option) (*keras.Model, error) {
	m, err := inceptionResNetV2(o, extra)
	if err != nil {
		return nil, failed("inception_resnet_v2", err)
	}
	return m, nil
}

func inceptionResNetV2(o Options, extra []keras.Option) (*keras.Model, error) {
	n, err := begin(o, extra, sizes{299, 75})
	if err != nil {
		return nil, err
	}
	x := n.inceptionStem()
	one := n.convNorm(x, 96, 1, 1)
	five := n.convNorm(n.convNorm(x, 48, 1, 1), 64, 5, 5)
	three := n.convNorm(n.convNorm(n.convNorm(x, 64, 1, 1), 96, 3, 3), 96, 3, 3)
	x = n.concatenate("mixed_5b", one, five, three, n.averageBranch(x, 64))
	for i := range 10 {
		x = n.inceptionResidual(x, fmt.Sprintf("block35_%d", i+1), 0.17, true, n.branches35(x))
	}
	once := n.convDown(x, 384, 3, 2)
	twice := n.convDown(n.convNorm(n.convNorm(x, 256, 1, 1), 256, 3, 3), 384, 3, 2)
	x = n.concatenate("mixed_6a", once, twice, n.maxPool(x, "", pool{size: 3, stride: 2}))
	for i := range 20 {
		x = n.inceptionResidual(x, fmt.Sprintf("block17_%d", i+1), 0.1, true, n.branches17(x))
	}
	first := n.convDown(n.convNorm(x, 256, 1, 1), 384, 3, 2)
	second := n.convDown(n.convNorm(x, 256, 1, 1), 288, 3, 2)
	third := n.convDown(n.convNorm(n.convNorm(x, 256, 1, 1), 288, 3, 3), 320, 3, 2)
	x = n.concatenate("mixed_7a", first, second, third, n.maxPool(x, "", pool{size: 3, stride: 2}))
	for i := range 9 {
		x = n.inceptionResidual(x, fmt.Sprintf("block8_%d", i+1), 0.2, true, n.branches8(x))
	}
	x = n.inceptionResidual(x, "block8_10", 1, false, n.branches8(x))
	x = n.convNormed(x, "conv_7b", 1536, conv{window: square(1), same: true, noBias: true})
	if o.NoTop {
		x = n.globalPool(x, "", "")
	} else {
		x = n.classify(n.globalAverage(x, "avg_pool"))
	}
	return n.finish(x, "inception_resnet_v2", tfKernels("inception_resnet_v2", "inception_resnet_v2", o.NoTop,
		[2]string{"e693bd0210a403b3192acc6073ad2e96", "d19885ff4a710c122648d3b5c3b684e4"}))
}

func (n *network) branches35(x symbol) []symbol {
	return []symbol{
		n.convNorm(x, 32, 1, 1),
		n.convNorm(n.convNorm(x, 32, 1, 1), 32, 3, 3),
		n.convNorm(n.convNorm(n.convNorm(x, 32, 1, 1), 48, 3, 3), 64, 3, 3),
	}
}

func (n *network) branches17(x symbol) []symbol {
	return []symbol{n.convNorm(x, 192, 1, 1), n.convNorm(n.convNorm(n.convNorm(x, 128, 1, 1), 160, 1, 7), 192, 7, 1)}
}

func (n *network) branches8(x symbol) []symbol {
	return []symbol{n.convNorm(x, 192, 1, 1), n.convNorm(n.convNorm(n.convNorm(x, 192, 1, 1), 224, 1, 3), 256, 3, 1)}
}

// inceptionResidual adds branches, combined by a 1x1 convolution, to x.
func (n *network) inceptionResidual(x symbol, name string, scale float64, activate bool, branches []symbol) symbol {
	mixed := n.concatenate(name+"_mixed", branches...)
	up := n.conv(mixed, name+"_conv", n.channels(x), 1, conv{same: true})
	x = layers.Apply(&CustomScaleLayer{Scale: scale}, x, up)
	if activate {
		x = n.relu(x, name+"_ac")
	}
	return x
}
