package applications

import (
	"fmt"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// NewXception returns the network of Chollet, "Xception: Deep Learning with Depthwise Separable Convolutions", 2016
// (arXiv:1610.02357), figure 5: two convolutions, then blocks of separable convolutions with a sum around each.
//
// Input: (batch, height, width, 3), at least 71x71, by default 299x299, prepared by Xception.PreprocessInput. Output:
// (batch, classes); with NoTop the last feature map (batch, height/32, width/32, 2048) or its pooling. Structure and
// defaults are those of keras.applications.Xception.
func NewXception(o Options, extra ...keras.Option) (*keras.Model, error) {
	m, err := xception(o, extra)
	if err != nil {
		return nil, failed("xception", err)
	}
	return m, nil
}

func xception(o Options, extra []keras.Option) (*keras.Model, error) {
	n, err := begin(o, extra, sizes{299, 71})
	if err != nil {
		return nil, err
	}
	n.lastAxis()
	x := n.conv(n.input, "block1_conv1", 32, 3, conv{stride: 2, noBias: true})
	x = n.relu(n.norm(x, "block1_conv1_bn"), "block1_conv1_act")
	x = n.conv(x, "block1_conv2", 64, 3, conv{noBias: true})
	x = n.relu(n.norm(x, "block1_conv2_bn"), "block1_conv2_act")
	for i, filters := range []int{128, 256, 728} {
		x = n.entry(x, i+2, filters, filters)
	}
	for i := range 8 {
		before := x
		for j := range 3 {
			name := fmt.Sprintf("block%d_sepconv%d", i+5, j+1)
			x = n.separableNorm(n.relu(x, name+"_act"), name, 728)
		}
		x = n.add("", x, before)
	}
	x = n.entry(x, 13, 728, 1024)
	for i, filters := range []int{1536, 2048} {
		name := fmt.Sprintf("block14_sepconv%d", i+1)
		x = n.relu(n.separableNorm(x, name, filters), name+"_act")
	}
	if o.NoTop {
		x = n.globalPool(x, "", "")
	} else {
		x = n.classify(n.globalAverage(x, "avg_pool"))
	}
	return n.finish(x, "xception", tfKernels("xception", "xception", o.NoTop, [2]string{"0a58e3b7378bc2990ea3b43d5981f1f6", "b0042744bf5b25fce3cb969f33bebb97"}))
}

// entry is a block of two separable convolutions that halves height and width.
func (n *network) entry(x symbol, id, first, second int) symbol {
	name := fmt.Sprintf("block%d_", id)
	shortcut := n.norm(n.conv(x, "", second, 1, conv{stride: 2, same: true, noBias: true}), "")
	if id > 2 { // the first block follows an activation
		x = n.relu(x, name+"sepconv1_act")
	}
	x = n.separableNorm(x, name+"sepconv1", first)
	x = n.separableNorm(n.relu(x, name+"sepconv2_act"), name+"sepconv2", second)
	return n.add("", n.maxPool(x, name+"pool", pool{size: 3, stride: 2, same: true}), shortcut)
}

// separableNorm is a separable convolution with batch normalization.
func (n *network) separableNorm(x symbol, name string, filters int) symbol {
	x = layers.Apply(&layers.SeparableConv2D{Name: name, Filters: filters, KernelSize: square(3), Padding: layers.Same, NoBias: true, DataFormat: n.options.DataFormat}, x)
	return n.norm(x, name+"_bn")
}
