package applications

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/keras"
)

// MobileNetV2Options are the options of [NewMobileNetV2].
type MobileNetV2Options struct {
	Options

	Alpha float64 // width: the factor for all numbers of filters; 0 is 1. ImageNet weights exist for 0.35, 0.5, 0.75, 1, 1.3 and 1.4
}

// NewMobileNetV2 returns the network of Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018
// (arXiv:1801.04381), table 2: 17 blocks of a 1x1 convolution that widens, a depthwise 3x3 convolution and a 1x1
// convolution that narrows without activation, with a sum around those that keep the shape.
//
// Input: (batch, height, width, 3), at least 32x32, by default 224x224, prepared by MobileNetV2.PreprocessInput.
// Output: (batch, classes); with NoTop the last feature map (batch, height/32, width/32, 1280) or its pooling.
// Structure and defaults are those of keras.applications.MobileNetV2. No checksums are published for its weights.
func NewMobileNetV2(o MobileNetV2Options, extra ...keras.Option) (*keras.Model, error) {
	m, err := mobileNetV2(o, extra)
	if err != nil {
		return nil, failed("mobilenetv2", err)
	}
	return m, nil
}

// mobileNetV2Stages are the repeated blocks of table 2.
var mobileNetV2Stages = []struct{ expansion, filters, count, stride int }{
	{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1},
}

func mobileNetV2(o MobileNetV2Options, extra []keras.Option) (*keras.Model, error) {
	if o.Alpha == 0 {
		o.Alpha = 1
	}
	if o.Weights == ImageNet && !slices.Contains([]float64{0.35, 0.5, 0.75, 1, 1.3, 1.4}, o.Alpha) {
		return nil, fmt.Errorf("with Weights %q, Alpha must be 0.35, 0.5, 0.75, 1, 1.3 or 1.4, received %v", ImageNet, o.Alpha)
	}
	given, err := o.givenShape()
	if err != nil {
		return nil, err
	}
	trained := []int{96, 128, 160, 192, 224}
	n, err := begin(o.Options, extra, sizes{o.trainedSize(trained, given), 32})
	if err != nil {
		return nil, err
	}
	n.lastAxis()
	n.epsilon, n.momentum = new(0.001), new(0.999)
	x := n.conv(n.input, "Conv1", divisible(float64(32*o.Alpha), 8), 3, conv{stride: 2, same: true, noBias: true})
	x = n.relu6(n.norm(x, "bn_Conv1"), "Conv1_relu")
	id := 0
	for _, s := range mobileNetV2Stages {
		filters := divisible(float64(int(float64(s.filters)*o.Alpha)), 8)
		for i := range s.count {
			x = n.inverted(x, id, s.expansion, filters, max(1, s.stride*(1-min(i, 1))))
			id++
		}
	}
	last := 1280
	if o.Alpha > 1 {
		last = divisible(float64(1280*o.Alpha), 8)
	}
	x = n.conv(x, "Conv_1", last, 1, conv{noBias: true})
	x = n.relu6(n.norm(x, "Conv_1_bn"), "out_relu")
	if o.NoTop {
		x = n.globalPool(x, "", "")
	} else {
		x = n.classify(n.globalAverage(x, ""))
	}
	rows := n.nameRows(trained)
	file := fmt.Sprintf("mobilenet_v2_weights_tf_dim_ordering_tf_kernels_%s_%s%s.h5", pythonFloat(o.Alpha), rows, ifTrue(o.NoTop, "_no_top"))
	return n.finish(x, fmt.Sprintf("mobilenetv2_%0.2f_%s", o.Alpha, rows), published{name: file, path: "/tensorflow/keras-applications/mobilenet_v2/" + file})
}

// inverted is an inverted residual block.
func (n *network) inverted(x symbol, id, expansion, filters, stride int) symbol {
	prefix, before, in := fmt.Sprintf("block_%d_", id), x, n.channels(x)
	if id == 0 {
		prefix = "expanded_conv_"
	} else {
		x = n.conv(x, prefix+"expand", expansion*in, 1, conv{same: true, noBias: true})
		x = n.relu6(n.norm(x, prefix+"expand_BN"), prefix+"expand_relu")
	}
	if stride == 2 {
		x = n.pad(x, prefix+"pad", n.correctPad(x, 3))
	}
	x = n.depthwise(x, prefix+"depthwise", 3, conv{stride: stride, noBias: true, same: stride == 1})
	x = n.relu6(n.norm(x, prefix+"depthwise_BN"), prefix+"depthwise_relu")
	x = n.conv(x, prefix+"project", filters, 1, conv{same: true, noBias: true})
	x = n.norm(x, prefix+"project_BN")
	if in == filters && stride == 1 {
		return n.add(prefix+"add", before, x)
	}
	return x
}

// givenShape returns the shape of the images of InputTensor, or else InputShape, and checks that the two agree.
func (o *Options) givenShape() ([]int, error) {
	if o.InputTensor == nil {
		return o.InputShape, nil
	}
	if err := o.InputTensor.Err(); err != nil {
		return nil, err
	}
	s := o.InputTensor.Shape()
	if len(s) != 4 {
		return nil, fmt.Errorf("InputTensor must have the shape (batch, height, width, channels), received %v", o.InputTensor)
	}
	if o.InputShape != nil && !slices.Equal(o.InputShape, s[1:]) {
		return nil, fmt.Errorf("InputShape %v and the shape of InputTensor %v differ; leave InputShape out", o.InputShape, o.InputTensor)
	}
	return s[1:], nil
}
