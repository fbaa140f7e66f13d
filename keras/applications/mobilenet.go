package applications

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// MobileNetOptions are the options of [NewMobileNet].
type MobileNetOptions struct {
	Options

	Alpha           float64  // width: the factor for all numbers of filters; 0 is 1. ImageNet weights exist for 0.25, 0.5, 0.75 and 1
	DepthMultiplier int      // number of outputs of a depthwise convolution per channel; 0 is 1
	Dropout         *float64 // dropout rate before the top; nil is 0.001
}

// NewMobileNet returns the network of Howard et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile
// Vision Applications", 2017 (arXiv:1704.04861), table 1: a convolution with stride 2, then 13 times a depthwise 3x3
// and a 1x1 convolution, each with batch normalization and min(max(x, 0), 6).
//
// Input: (batch, height, width, 3), at least 32x32, by default 224x224, prepared by MobileNet.PreprocessInput. Output:
// (batch, classes); with NoTop the last feature map (batch, height/32, width/32, 1024·Alpha) or its pooling. Structure
// and defaults are those of keras.applications.MobileNet. No checksums are published for its weights.
func NewMobileNet(o MobileNetOptions, extra ...keras.Option) (*keras.Model, error) {
	m, err := mobileNet(o, extra)
	if err != nil {
		return nil, failed("mobilenet", err)
	}
	return m, nil
}

// mobileNetBlocks are the numbers of filters and the strides of the blocks.
var mobileNetBlocks = []struct{ filters, stride int }{
	{64, 1}, {128, 2}, {128, 1}, {256, 2}, {256, 1}, {512, 2}, {512, 1}, {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1},
}

func mobileNet(o MobileNetOptions, extra []keras.Option) (*keras.Model, error) {
	if o.Alpha == 0 {
		o.Alpha = 1
	}
	if o.DepthMultiplier == 0 {
		o.DepthMultiplier = 1
	}
	if o.Dropout == nil {
		o.Dropout = new(1e-3)
	}
	pretrained := []int{128, 160, 192, 224}
	if o.Weights == ImageNet {
		if o.DepthMultiplier != 1 {
			return nil, fmt.Errorf("with Weights %q, DepthMultiplier must be 1, received %d", ImageNet, o.DepthMultiplier)
		}
		if !slices.Contains([]float64{0.25, 0.5, 0.75, 1}, o.Alpha) {
			return nil, fmt.Errorf("with Weights %q, Alpha must be 0.25, 0.5, 0.75 or 1, received %v", ImageNet, o.Alpha)
		}
	}
	n, err := begin(o.Options, extra, sizes{o.trainedSize(pretrained, o.InputShape), 32})
	if err != nil {
		return nil, err
	}
	n.lastAxis()
	x := n.conv(n.input, "conv1", int(32*o.Alpha), 3, conv{stride: 2, same: true, noBias: true})
	x = n.relu6(n.norm(x, "conv1_bn"), "conv1_relu")
	for i, b := range mobileNetBlocks {
		x = n.separable(x, strconv.Itoa(i+1), int(float64(b.filters)*o.Alpha), o.DepthMultiplier, b.stride)
	}
	if o.NoTop {
		x = n.globalPool(x, "", "")
	} else {
		x = layers.Apply(&layers.GlobalAveragePooling2D{KeepDims: true, DataFormat: o.DataFormat}, x)
		x = layers.Apply(&layers.Dropout{Name: "dropout", Rate: *o.Dropout}, x)
		x = n.conv(x, "conv_preds", o.classes(), 1, conv{same: true})
		x = layers.Apply(&layers.Reshape{Name: "reshape_2", TargetShape: []int{o.classes()}}, x)
		x = n.activation(x, "predictions", o.activation())
	}
	rows := n.nameRows(pretrained)
	file := fmt.Sprintf("mobilenet_%s_%s_tf%s.h5", map[float64]string{1: "1_0", 0.75: "7_5", 0.5: "5_0", 0.25: "2_5"}[o.Alpha], rows, ifTrue(o.NoTop, "_no_top"))
	return n.finish(x, fmt.Sprintf("mobilenet_%0.2f_%s", o.Alpha, rows), published{name: file, path: "/tensorflow/keras-applications/mobilenet/" + file})
}

// separable is a depthwise and a pointwise convolution.
func (n *network) separable(x symbol, id string, filters, multiplier, stride int) symbol {
	padding := layers.Same
	if stride > 1 {
		x = n.pad(x, "conv_pad_"+id, [][]int{{0, 1}, {0, 1}})
		padding = layers.Valid
	}
	x = layers.Apply(&layers.DepthwiseConv2D{Name: "conv_dw_" + id, KernelSize: square(3), Strides: square(stride), Padding: padding,
		DepthMultiplier: multiplier, NoBias: true, DataFormat: n.options.DataFormat}, x)
	x = n.relu6(n.norm(x, "conv_dw_"+id+"_bn"), "conv_dw_"+id+"_relu")
	x = n.conv(x, "conv_pw_"+id, filters, 1, conv{same: true, noBias: true, stride: 1})
	return n.relu6(n.norm(x, "conv_pw_"+id+"_bn"), "conv_pw_"+id+"_relu")
}

// trainedSize returns the size of a shape if weights exist for it, else 224.
func (o *Options) trainedSize(trained, shape []int) int {
	if len(shape) == 3 {
		at := 0
		if o.first() {
			at = 1
		}
		if shape[at] == shape[at+1] && slices.Contains(trained, shape[at]) {
			return shape[at]
		}
	}
	return 224
}

// nameRows returns the height of the input as part of model and file names. With ImageNet weights it is the height that
// these were trained with.
func (n *network) nameRows(trained []int) string {
	at := 0
	if n.options.first() {
		at = 1
	}
	rows := n.shape[at]
	if n.options.Weights == ImageNet {
		rows = n.options.trainedSize(trained, n.shape)
	}
	if rows == layers.Unknown {
		return "None"
	}
	return strconv.Itoa(rows)
}

// ifTrue returns the text, or "".
func ifTrue(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

// pythonFloat prints a number as Python does: 1.0, 0.35.
func pythonFloat(x float64) string {
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// divisible rounds a number of filters to a multiple of divisor that is not more than 10 % smaller.
func divisible(filters float64, divisor int) int {
	rounded := max(divisor, int(filters+float64(divisor)/2)/divisor*divisor)
	if float64(rounded) < float64(0.9*filters) {
		rounded += divisor
	}
	return rounded
}
