package applications

import (
	"fmt"

	"github.com/gokeras/gokeras/keras"
)

// NewInceptionV3 returns the network of Szegedy et al., "Rethinking the Inception Architecture for Computer Vision",
// 2015 (arXiv:1512.00567), table 1: modules of parallel convolutions of several sizes, with 7x7 windows factorized into
// 1x7 and 7x1.
//
// Input: (batch, height, width, 3), at least 75x75, by default 299x299, prepared by InceptionV3.PreprocessInput.
// Output: (batch, classes); with NoTop the last feature map (batch, height', width', 2048), 8x8 for the default size,
// or its pooling. Structure and defaults are those of keras.applications.InceptionV3.
func NewInceptionV3(o Options, extra ...keras.Option) (*keras.Model, error) {
	m, err := inceptionV3(o, extra)
	if err != nil {
		return nil, failed("inception_v3", err)
	}
	return m, nil
}

// convNorm is a convolution of rows x columns with batch normalization and relu, without explicit names.
func (n *network) convNorm(x symbol, filters, rows, columns int) symbol {
	return n.convNormed(x, "", filters, conv{window: []int{rows, columns}, same: true, noBias: true})
}

// convDown is a convolution of size x size without padding.
func (n *network) convDown(x symbol, filters, size, stride int) symbol {
	return n.convNormed(x, "", filters, conv{window: square(size), stride: stride, noBias: true})
}

func (n *network) convNormed(x symbol, name string, filters int, c conv) symbol {
	norm, act := "", ""
	if name != "" {
		norm, act = name+"_bn", name+"_ac"
	}
	return n.relu(n.norm(n.conv(x, name, filters, 0, c), norm), act)
}

// inceptionStem is the beginning of both networks.
func (n *network) inceptionStem() symbol {
	n.unscaled = true
	x := n.convDown(n.input, 32, 3, 2)
	x = n.convDown(x, 32, 3, 1)
	x = n.convNorm(x, 64, 3, 3)
	x = n.maxPool(x, "", pool{size: 3, stride: 2})
	x = n.convDown(x, 80, 1, 1)
	x = n.convDown(x, 192, 3, 1)
	return n.maxPool(x, "", pool{size: 3, stride: 2})
}

// averageBranch is a 3x3 average pooling and a 1x1 convolution.
func (n *network) averageBranch(x symbol, filters int) symbol {
	return n.convNorm(n.averagePool(x, "", pool{size: 3, stride: 1, same: true}), filters, 1, 1)
}

func inceptionV3(o Options, extra []keras.Option) (*keras.Model, error) {
	n, err := begin(o, extra, sizes{299, 75})
	if err != nil {
		return nil, err
	}
	x := n.inceptionStem()
	for i, filters := range []int{32, 64, 64} {
		x = n.inceptionA(x, fmt.Sprintf("mixed%d", i), filters)
	}
	x = n.inceptionB(x)
	for i, filters := range []int{128, 160, 160, 192} {
		x = n.inceptionC(x, fmt.Sprintf("mixed%d", i+4), filters)
	}
	x = n.inceptionD(x)
	for i := range 2 {
		x = n.inceptionE(x, i)
	}
	if o.NoTop {
		x = n.globalPool(x, "", "")
	} else {
		x = n.classify(n.globalAverage(x, "avg_pool"))
	}
	return n.finish(x, "inception_v3", tfKernels("inception_v3", "inception_v3", o.NoTop, [2]string{"9a0d58056eeedaa3f26cb7ebd46da564", "bcbd6486424b2319ff4ef7d526e38f63"}))
}

// inceptionA has windows of 5x5, and two of 3x3 in a row.
func (n *network) inceptionA(x symbol, name string, pooled int) symbol {
	one := n.convNorm(x, 64, 1, 1)
	five := n.convNorm(n.convNorm(x, 48, 1, 1), 64, 5, 5)
	three := n.convNorm(n.convNorm(n.convNorm(x, 64, 1, 1), 96, 3, 3), 96, 3, 3)
	return n.concatenate(name, one, five, three, n.averageBranch(x, pooled))
}

// inceptionB halves height and width.
func (n *network) inceptionB(x symbol) symbol {
	three := n.convDown(x, 384, 3, 2)
	double := n.convDown(n.convNorm(n.convNorm(x, 64, 1, 1), 96, 3, 3), 96, 3, 2)
	return n.concatenate("mixed3", three, double, n.maxPool(x, "", pool{size: 3, stride: 2}))
}

// inceptionC has windows of 7x7 in two parts.
func (n *network) inceptionC(x symbol, name string, filters int) symbol {
	one := n.convNorm(x, 192, 1, 1)
	seven := n.convNorm(x, filters, 1, 1)
	seven = n.convNorm(seven, filters, 1, 7)
	seven = n.convNorm(seven, 192, 7, 1)
	double := n.convNorm(x, filters, 1, 1)
	double = n.convNorm(double, filters, 7, 1)
	double = n.convNorm(double, filters, 1, 7)
	double = n.convNorm(double, filters, 7, 1)
	double = n.convNorm(double, 192, 1, 7)
	return n.concatenate(name, one, seven, double, n.averageBranch(x, 192))
}

// inceptionD halves height and width.
func (n *network) inceptionD(x symbol) symbol {
	three := n.convDown(n.convNorm(x, 192, 1, 1), 320, 3, 2)
	seven := n.convNorm(x, 192, 1, 1)
	seven = n.convNorm(seven, 192, 1, 7)
	seven = n.convNorm(seven, 192, 7, 1)
	seven = n.convDown(seven, 192, 3, 2)
	return n.concatenate("mixed8", three, seven, n.maxPool(x, "", pool{size: 3, stride: 2}))
}

// inceptionE has windows of 1x3 and 3x1 side by side.
func (n *network) inceptionE(x symbol, index int) symbol {
	one := n.convNorm(x, 320, 1, 1)
	three := n.convNorm(x, 384, 1, 1)
	three = n.concatenate(fmt.Sprintf("mixed9_%d", index), n.convNorm(three, 384, 1, 3), n.convNorm(three, 384, 3, 1))
	double := n.convNorm(n.convNorm(x, 448, 1, 1), 384, 3, 3)
	double = n.concatenate("", n.convNorm(double, 384, 1, 3), n.convNorm(double, 384, 3, 1))
	return n.concatenate(fmt.Sprintf("mixed%d", 9+index), one, three, double, n.averageBranch(x, 192))
}
