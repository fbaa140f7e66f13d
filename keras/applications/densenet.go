package applications

import (
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// denseNet describes one network of the family.
type denseNet struct {
	name   string
	blocks [4]int
	hashes [2]string // of the files with and without top
}

// NewDenseNet121 returns the network with 121 layers of Huang et al., "Densely Connected Convolutional Networks", 2016
// (arXiv:1608.06993), table 1: blocks of 6, 12, 24 and 16 layers, each of which adds 32 channels that it computes from
// all channels before it, with transitions between the blocks that halve channels, height and width.
//
// Input: (batch, height, width, 3), at least 32x32, by default 224x224, prepared by DenseNet.PreprocessInput. Output:
// (batch, classes); with NoTop the last feature map (batch, height/32, width/32, 1024) or its pooling. Structure and
// defaults are those of keras.applications.DenseNet121, which like this one takes no DataFormat ChannelsFirst.
func NewDenseNet121(o Options, extra ...keras.Option) (*keras.Model, error) {
	return denseNet{"densenet121", [4]int{6, 12, 24, 16}, [2]string{"9d60b8095a5708f2dcce2bca79d332c7", "30ee3e1110167f948a6b9946edeeb738"}}.build(o, extra)
}

// NewDenseNet169 is [NewDenseNet121] with 6, 12, 32 and 32 layers, keras.applications.DenseNet169.
func NewDenseNet169(o Options, extra ...keras.Option) (*keras.Model, error) {
	return denseNet{"densenet169", [4]int{6, 12, 32, 32}, [2]string{"d699b8f76981ab1b30698df4c175e90b", "b8c4d4c20dd625c148057b9ff1c1176b"}}.build(o, extra)
}

// NewDenseNet201 is [NewDenseNet121] with 6, 12, 48 and 32 layers, keras.applications.DenseNet201.
func NewDenseNet201(o Options, extra ...keras.Option) (*keras.Model, error) {
	return denseNet{"densenet201", [4]int{6, 12, 48, 32}, [2]string{"1ceb130c1ea1b78c3bf6114dbdfd8807", "c13680b51ded0fb44dff2d8f86ac8bb1"}}.build(o, extra)
}

// errChannelsLast is the error of families that Keras has for one data format only.
var errChannelsLast = errors.New("this family supports DataFormat " + string(layers.ChannelsLast) + " only")

func (d denseNet) build(o Options, extra []keras.Option) (*keras.Model, error) {
	m, err := d.model(o, extra)
	if err != nil {
		return nil, failed(d.name, err)
	}
	return m, nil
}

func (d denseNet) model(o Options, extra []keras.Option) (*keras.Model, error) {
	if o.first() {
		return nil, errChannelsLast
	}
	n, err := begin(o, extra, sizes{224, 32})
	if err != nil {
		return nil, err
	}
	n.epsilon = new(1.001e-5)
	x := n.pad(n.input, "", around(3))
	x = n.conv(x, "conv1_conv", 64, 7, conv{stride: 2, noBias: true})
	x = n.relu(n.norm(x, "conv1_bn"), "conv1_relu")
	x = n.pad(x, "", around(1))
	x = n.maxPool(x, "pool1", pool{size: 3, stride: 2})
	for i, count := range d.blocks {
		if i > 0 {
			x = n.transition(x, fmt.Sprintf("pool%d", i+1))
		}
		for j := range count {
			x = n.denselyConnected(x, fmt.Sprintf("conv%d_block%d", i+2, j+1))
		}
	}
	x = n.relu(n.norm(x, "bn"), "relu")
	if o.NoTop {
		x = n.globalPool(x, "avg_pool", "max_pool")
	} else {
		x = n.classify(n.globalAverage(x, "avg_pool"))
	}
	return n.finish(x, d.name, tfKernels(d.name, "densenet", o.NoTop, d.hashes))
}

func (n *network) denselyConnected(x symbol, name string) symbol {
	const growth = 32
	y := n.relu(n.norm(x, name+"_0_bn"), name+"_0_relu")
	y = n.conv(y, name+"_1_conv", 4*growth, 1, conv{noBias: true})
	y = n.relu(n.norm(y, name+"_1_bn"), name+"_1_relu")
	y = n.conv(y, name+"_2_conv", growth, 3, conv{same: true, noBias: true})
	return n.concatenate(name+"_concat", x, y)
}

// transition halves channels, height and width.
func (n *network) transition(x symbol, name string) symbol {
	x = n.relu(n.norm(x, name+"_bn"), name+"_relu")
	x = n.conv(x, name+"_conv", n.channels(x)/2, 1, conv{noBias: true})
	return n.averagePool(x, name+"_pool", pool{size: 2, stride: 2})
}
