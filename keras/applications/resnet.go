package applications

import (
	"fmt"

	"github.com/gokeras/gokeras/keras"
)

// residual describes a network of residual blocks.
type residual struct {
	name   string // beginning of file names
	v2     bool
	blocks [4]int
	hashes [2]string // of the files with and without top
}

var residualFilters = [4]int{64, 128, 256, 512}

// NewResNet50 returns the residual network with 50 layers of He et al., "Deep Residual Learning for Image Recognition",
// 2015 (arXiv:1512.03385), table 1: a convolution of 7x7 with stride 2, pooling, and four stacks of 3, 4, 6 and 3
// bottleneck blocks
//
//	y = relu(shortcut(x) + f(x)),  f: 1x1, 3x3 and 1x1 convolutions, each with batch normalization, relu between them
//
// where the first block of a stack has a 1x1 convolution in its shortcut and, from the second stack on, stride 2.
//
// Input: (batch, height, width, 3), at least 32x32, by default 224x224, prepared by ResNet.PreprocessInput. Output:
// (batch, classes); with NoTop the last feature map (batch, height/32, width/32, 2048) or its pooling. Structure and
// defaults are those of keras.applications.ResNet50.
func NewResNet50(o Options, extra ...keras.Option) (*keras.Model, error) {
	return residual{name: "resnet50", blocks: [4]int{3, 4, 6, 3},
		hashes: [2]string{"2cb95161c43110f7111970584f804107", "4d473c1dd8becc155b73f8504c6f6626"}}.model(o, extra)
}

// NewResNet101 is [NewResNet50] with 3, 4, 23 and 3 blocks, keras.applications.ResNet101.
func NewResNet101(o Options, extra ...keras.Option) (*keras.Model, error) {
	return residual{name: "resnet101", blocks: [4]int{3, 4, 23, 3},
		hashes: [2]string{"f1aeb4b969a6efcfb50fad2f0c20cfc5", "88cf7a10940856eca736dc7b7e228a21"}}.model(o, extra)
}

// NewResNet152 is [NewResNet50] with 3, 8, 36 and 3 blocks, keras.applications.ResNet152.
func NewResNet152(o Options, extra ...keras.Option) (*keras.Model, error) {
	return residual{name: "resnet152", blocks: [4]int{3, 8, 36, 3},
		hashes: [2]string{"100835be76be38e30d865e96f2aaae62", "ee4c566cf9a93f14d82f913c2dc6dd0c"}}.model(o, extra)
}

// NewResNet50V2 returns the residual network with 50 layers of He et al., "Identity Mappings in Deep Residual
// Networks", 2016 (arXiv:1603.05027): as [NewResNet50], but batch normalization and relu come before each convolution,
// nothing follows the sum, y = shortcut(x) + f(x), and the stride is in the last block of each stack except the last.
//
// Input: as [NewResNet50], prepared by ResNetV2.PreprocessInput. Structure and defaults are those of
// keras.applications.ResNet50V2.
func NewResNet50V2(o Options, extra ...keras.Option) (*keras.Model, error) {
	return residual{name: "resnet50v2", v2: true, blocks: [4]int{3, 4, 6, 3},
		hashes: [2]string{"3ef43a0b657b3be2300d5770ece849e0", "fac2f116257151a9d068a22e544a4917"}}.model(o, extra)
}

// NewResNet101V2 is [NewResNet50V2] with 3, 4, 23 and 3 blocks, keras.applications.ResNet101V2.
func NewResNet101V2(o Options, extra ...keras.Option) (*keras.Model, error) {
	return residual{name: "resnet101v2", v2: true, blocks: [4]int{3, 4, 23, 3},
		hashes: [2]string{"6343647c601c52e1368623803854d971", "c0ed64b8031c3730f411d2eb4eea35b5"}}.model(o, extra)
}

// NewResNet152V2 is [NewResNet50V2] with 3, 8, 36 and 3 blocks, keras.applications.ResNet152V2.
func NewResNet152V2(o Options, extra ...keras.Option) (*keras.Model, error) {
	return residual{name: "resnet152v2", v2: true, blocks: [4]int{3, 8, 36, 3},
		hashes: [2]string{"a49b44d1979771252814e80f8ec446f9", "ed17cf2e0169df9d443503ef94b23b33"}}.model(o, extra)
}

func (r residual) model(o Options, extra []keras.Option) (*keras.Model, error) {
	n, err := begin(o, extra, sizes{224, 32})
	if err != nil {
		return nil, failed(r.name, err)
	}
	n.epsilon = new(1.001e-5)
	x := n.pad(n.input, "conv1_pad", around(3))
	x = n.conv(x, "conv1_conv", 64, 7, conv{stride: 2})
	if !r.v2 {
		x = n.relu(n.norm(x, "conv1_bn"), "conv1_relu")
	}
	x = n.pad(x, "pool1_pad", around(1))
	x = n.maxPool(x, "pool1_pool", pool{size: 3, stride: 2})
	for i, filters := range residualFilters {
		x = r.stack(n, x, i, filters)
	}
	if r.v2 {
		x = n.relu(n.norm(x, "post_bn"), "post_relu")
	}
	if o.NoTop {
		x = n.globalPool(x, "avg_pool", "max_pool")
	} else {
		x = n.classify(n.globalAverage(x, "avg_pool"))
	}
	m, err := n.finish(x, r.name, tfKernels(r.name, "resnet", o.NoTop, r.hashes))
	if err != nil {
		return nil, failed(r.name, err)
	}
	return m, nil
}

// stack is a sequence of blocks with the same number of filters, one of which has stride 2.
func (r residual) stack(n *network, x symbol, index, filters int) symbol {
	count := r.blocks[index]
	for i := 1; i <= count; i++ {
		name, stride := fmt.Sprintf("conv%d_block%d", index+2, i), 1
		switch {
		case r.v2:
			if i == count && index < 3 {
				stride = 2
			}
			x = n.residualV2(x, name, filters, stride, i == 1)
		default:
			if i == 1 && index > 0 {
				stride = 2
			}
			x = n.residualV1(x, name, filters, stride, i == 1)
		}
	}
	return x
}

func (n *network) residualV1(x symbol, name string, filters, stride int, convShortcut bool) symbol {
	shortcut := x
	if convShortcut {
		shortcut = n.conv(x, name+"_0_conv", 4*filters, 1, conv{stride: stride})
		shortcut = n.norm(shortcut, name+"_0_bn")
	}
	x = n.conv(x, name+"_1_conv", filters, 1, conv{stride: stride})
	x = n.relu(n.norm(x, name+"_1_bn"), name+"_1_relu")
	x = n.conv(x, name+"_2_conv", filters, 3, conv{same: true})
	x = n.relu(n.norm(x, name+"_2_bn"), name+"_2_relu")
	x = n.conv(x, name+"_3_conv", 4*filters, 1, conv{})
	x = n.norm(x, name+"_3_bn")
	return n.relu(n.add(name+"_add", shortcut, x), name+"_out")
}

func (n *network) residualV2(x symbol, name string, filters, stride int, convShortcut bool) symbol {
	before := n.relu(n.norm(x, name+"_preact_bn"), name+"_preact_relu")
	shortcut := x
	switch {
	case convShortcut:
		shortcut = n.conv(before, name+"_0_conv", 4*filters, 1, conv{stride: stride})
	case stride > 1:
		shortcut = n.maxPool(x, "", pool{size: 1, stride: stride})
	}
	x = n.conv(before, name+"_1_conv", filters, 1, conv{stride: 1, noBias: true})
	x = n.relu(n.norm(x, name+"_1_bn"), name+"_1_relu")
	x = n.pad(x, name+"_2_pad", around(1))
	x = n.conv(x, name+"_2_conv", filters, 3, conv{stride: stride, noBias: true})
	x = n.relu(n.norm(x, name+"_2_bn"), name+"_2_relu")
	x = n.conv(x, name+"_3_conv", 4*filters, 1, conv{})
	return n.add(name+"_out", shortcut, x)
}
