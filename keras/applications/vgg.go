package applications

import (
	"fmt"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// vgg describes a network of 3x3 convolutions.
type vgg struct {
	name   string
	depths [5]int    // number of convolutions in each block
	hashes [2]string // of the files with and without top
}

// NewVGG16 returns configuration D of Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
// Recognition", 2014 (arXiv:1409.1556), table 1: five blocks of 2, 2, 3, 3 and 3 convolutions of 3x3 with relu, each
// block ending with a pooling of 2x2, and a top of two Dense layers of 4096 units.
//
// Input: (batch, height, width, 3), at least 32x32, by default 224x224, prepared by VGG16.PreprocessInput. Output:
// (batch, classes); with NoTop the last feature map (batch, height/32, width/32, 512) or its pooling. Structure and
// defaults are those of keras.applications.VGG16.
func NewVGG16(o Options, extra ...keras.Option) (*keras.Model, error) {
	return vgg{"vgg16", [5]int{2, 2, 3, 3, 3}, [2]string{"64373286793e3c8b2b4e3219cbf3544b", "6d6bbae143d832006294945121d1f1fc"}}.model(o, extra)
}

// NewVGG19 returns configuration E of the same paper: [NewVGG16] with 2, 2, 4, 4 and 4 convolutions,
// keras.applications.VGG19. Its input is prepared by VGG19.PreprocessInput.
func NewVGG19(o Options, extra ...keras.Option) (*keras.Model, error) {
	return vgg{"vgg19", [5]int{2, 2, 4, 4, 4}, [2]string{"cbe5617147190e668d6c5d5026f83318", "253f8cb515780f3b799900260a226db6"}}.model(o, extra)
}

func (v vgg) model(o Options, extra []keras.Option) (*keras.Model, error) {
	n, err := begin(o, extra, sizes{224, 32})
	if err != nil {
		return nil, failed(v.name, err)
	}
	x := n.input
	for i, depth := range v.depths {
		block := fmt.Sprintf("block%d_", i+1)
		for j := 1; j <= depth; j++ {
			x = n.conv(x, fmt.Sprintf("%sconv%d", block, j), min(64<<i, 512), 3, conv{same: true, activation: "relu"})
		}
		x = n.maxPool(x, block+"pool", pool{size: 2, stride: 2})
	}
	if o.NoTop {
		x = n.globalPool(x, "", "")
	} else {
		x = layers.Apply(&layers.Flatten{Name: "flatten", DataFormat: o.DataFormat}, x)
		for _, name := range []string{"fc1", "fc2"} {
			x = layers.Apply(&layers.Dense{Name: name, Units: 4096, Activation: "relu"}, x)
		}
		x = n.classify(x)
	}
	m, err := n.finish(x, v.name, tfKernels(v.name, v.name, o.NoTop, v.hashes))
	if err != nil {
		return nil, failed(v.name, err)
	}
	return m, nil
}
