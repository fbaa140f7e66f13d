package applications

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// nasNet describes one of the two networks.
type nasNet struct {
	name    string
	filters int // of the last cells, times 24
	blocks  int // number of normal cells between reductions
	stem    int // filters of the first convolution
	skip    bool
	size    int
	file    string    // beginning of the file name in the cache
	remote  string    // and at the source
	hashes  [2]string // of the files with and without top
}

// NewNASNetMobile returns the network NASNet-A (4 @ 1056) of Zoph et al., "Learning Transferable Architectures for
// Scalable Image Recognition", 2017 (arXiv:1707.07012), figure 4: cells that were found by search, of separable
// convolutions and poolings of the results of the two cells before.
//
// Input: (batch, height, width, 3), at least 32x32, by default 224x224, also with NoTop, prepared by
// NASNet.PreprocessInput. Output: (batch, classes); with NoTop the last feature map (batch, height/32, width/32, 1056)
// or its pooling. Structure and defaults are those of keras.applications.NASNetMobile, which like this one takes no
// DataFormat ChannelsFirst. Sizes may not be open.
func NewNASNetMobile(o Options, extra ...keras.Option) (*keras.Model, error) {
	if o.NoTop && o.InputShape == nil {
		o.InputShape = []int{224, 224, 3}
	}
	return nasNet{name: "nasnet_mobile", filters: 1056, blocks: 4, stem: 32, size: 224, file: "nasnet_mobile", remote: "NASNet-mobile",
		hashes: [2]string{"020fb642bf7360b370c678b08e0adf61", "1ed92395b5b598bdda52abe5c0dbfd63"}}.build(o, extra)
}

// NewNASNetLarge returns the network NASNet-A (6 @ 4032) of the same paper, for 331x331; see [NewNASNetMobile].
// Structure and defaults are those of keras.applications.NASNetLarge. NoTop requires an InputShape.
func NewNASNetLarge(o Options, extra ...keras.Option) (*keras.Model, error) {
	return nasNet{name: "nasnet_large", filters: 4032, blocks: 6, stem: 96, skip: true, size: 331, file: "nasnet_large", remote: "NASNet-large",
		hashes: [2]string{"11577c9a518f0070763c2b964a382f17", "d81d89dc07e6e56530c4e77faddd61b5"}}.build(o, extra)
}

func (v nasNet) build(o Options, extra []keras.Option) (*keras.Model, error) {
	m, err := v.model(o, extra)
	if err != nil {
		return nil, failed(v.name, err)
	}
	return m, nil
}

func (v nasNet) model(o Options, extra []keras.Option) (*keras.Model, error) {
	if o.first() {
		return nil, errChannelsLast
	}
	n, err := begin(o, extra, sizes{v.size, 32})
	if err != nil {
		return nil, err
	}
	if slices.Contains(n.input.Shape()[1:], layers.Unknown) {
		return nil, fmt.Errorf("NASNet needs images of one size, received an input of shape %v; give InputShape", n.input)
	}
	n.lastAxis()
	n.epsilon, n.momentum = new(0.001), new(0.9997)
	filters := v.filters / 24
	n.initializer = "he_normal"
	var before symbol
	x := n.norm(n.conv(n.input, "stem_conv1", v.stem, 3, conv{stride: 2, noBias: true}), "stem_bn1")
	x, before = n.reductionCell(x, before, filters/4, "stem_1")
	x, before = n.reductionCell(x, before, filters/2, "stem_2")
	for i := range 3 {
		if i > 0 {
			var skipped symbol
			x, skipped = n.reductionCell(x, before, filters, fmt.Sprintf("reduce_%d", i*v.blocks))
			if !v.skip {
				before = skipped
			}
		}
		first := i*v.blocks + min(i, 1)
		for j := range v.blocks {
			x, before = n.normalCell(x, before, filters, fmt.Sprint(first+j))
		}
		filters *= 2
	}
	x = n.relu(x, "")
	if o.NoTop {
		x = n.globalPool(x, "", "")
	} else {
		x = n.classify(n.globalAverage(x, ""))
	}
	return n.finish(x, v.name, v.published(o.NoTop))
}

func (v nasNet) published(noTop bool) published {
	const folder = "/tensorflow/keras-applications/nasnet/"
	if noTop {
		return published{name: v.file + "_no_top.h5", path: folder + v.remote + "-no-top.h5", hash: v.hashes[1]}
	}
	return published{name: v.file + ".h5", path: folder + v.remote + ".h5", hash: v.hashes[0]}
}

// twiceSeparable is two separable convolutions, each with relu before it and batch normalization after it.
func (n *network) twiceSeparable(x symbol, filters, size, stride int, id string) symbol {
	x = n.relu(x, "")
	padding := layers.Same
	if stride == 2 {
		x = n.pad(x, "separable_conv_1_pad_"+id, n.correctPad(x, size))
		padding = layers.Valid
	}
	x = layers.Apply(&layers.SeparableConv2D{Name: "separable_conv_1_" + id, Filters: filters, KernelSize: square(size), Strides: square(stride), Padding: padding, NoBias: true}, x)
	x = n.relu(n.norm(x, "separable_conv_1_bn_"+id), "")
	x = layers.Apply(&layers.SeparableConv2D{Name: "separable_conv_2_" + id, Filters: filters, KernelSize: square(size), Padding: layers.Same, NoBias: true}, x)
	return n.norm(x, "separable_conv_2_bn_"+id)
}

// adjust converts the result of the cell before the last one to the size and number of channels of the current one.
func (n *network) adjust(before, x symbol, filters int, id string) symbol {
	switch {
	case before == nil:
		return x
	case before.Err() != nil || x.Err() != nil:
		return before
	case before.Shape()[2] != x.Shape()[2]:
		before = n.relu(before, "adjust_relu_1_"+id)
		one := n.averagePool(before, "adjust_avg_pool_1_"+id, pool{size: 1, stride: 2})
		one = n.conv(one, "adjust_conv_1_"+id, filters/2, 1, conv{same: true, noBias: true})
		two := n.pad(before, "", [][]int{{0, 1}, {0, 1}})
		two = layers.Apply(&layers.Cropping2D{Cropping: [][]int{{1, 0}, {1, 0}}}, two)
		two = n.averagePool(two, "adjust_avg_pool_2_"+id, pool{size: 1, stride: 2})
		two = n.conv(two, "adjust_conv_2_"+id, filters/2, 1, conv{same: true, noBias: true})
		return n.norm(n.concatenate("", one, two), "adjust_bn_"+id)
	case n.channels(before) != filters:
		before = n.conv(n.relu(before, ""), "adjust_conv_projection_"+id, filters, 1, conv{same: true, noBias: true})
		return n.norm(before, "adjust_bn_"+id)
	}
	return before
}

// normalCell keeps height and width. It returns its result and its input.
func (n *network) normalCell(x, before symbol, filters int, id string) (symbol, symbol) {
	p := n.adjust(before, x, filters, id)
	h := n.conv(n.relu(x, ""), "normal_conv_1_"+id, filters, 1, conv{same: true, noBias: true})
	h = n.norm(h, "normal_bn_1_"+id)
	one := n.add("normal_add_1_"+id, n.twiceSeparable(h, filters, 5, 1, "normal_left1_"+id), n.twiceSeparable(p, filters, 3, 1, "normal_right1_"+id))
	two := n.add("normal_add_2_"+id, n.twiceSeparable(p, filters, 5, 1, "normal_left2_"+id), n.twiceSeparable(p, filters, 3, 1, "normal_right2_"+id))
	around := pool{size: 3, stride: 1, same: true}
	three := n.add("normal_add_3_"+id, n.averagePool(h, "normal_left3_"+id, around), p)
	four := n.add("normal_add_4_"+id, n.averagePool(p, "normal_left4_"+id, around), n.averagePool(p, "normal_right4_"+id, around))
	five := n.add("normal_add_5_"+id, n.twiceSeparable(h, filters, 3, 1, "normal_left5_"+id), h)
	return n.concatenate("normal_concat_"+id, p, one, two, three, four, five), x
}

// reductionCell halves height and width. It returns its result and its input.
func (n *network) reductionCell(x, before symbol, filters int, id string) (symbol, symbol) {
	p := n.adjust(before, x, filters, id)
	h := n.conv(n.relu(x, ""), "reduction_conv_1_"+id, filters, 1, conv{same: true, noBias: true})
	h = n.norm(h, "reduction_bn_1_"+id)
	padded := n.pad(h, "reduction_pad_1_"+id, n.correctPad(h, 3))
	down := pool{size: 3, stride: 2}
	one := n.add("reduction_add_1_"+id, n.twiceSeparable(h, filters, 5, 2, "reduction_left1_"+id), n.twiceSeparable(p, filters, 7, 2, "reduction_right1_"+id))
	two := n.add("reduction_add_2_"+id, n.maxPool(padded, "reduction_left2_"+id, down), n.twiceSeparable(p, filters, 7, 2, "reduction_right2_"+id))
	three := n.add("reduction_add3_"+id, n.averagePool(padded, "reduction_left3_"+id, down), n.twiceSeparable(p, filters, 5, 2, "reduction_right3_"+id))
	four := n.add("", two, n.averagePool(one, "reduction_left4_"+id, pool{size: 3, stride: 1, same: true}))
	five := n.add("reduction_add4_"+id, n.twiceSeparable(one, filters, 3, 1, "reduction_left4_"+id), n.maxPool(padded, "reduction_right5_"+id, down))
	return n.concatenate("reduction_concat_"+id, two, three, four, five), x
}
