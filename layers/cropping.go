package layers

import "github.com/gokeras/gokeras/keras/ops"

// Cropping1D removes cells from the beginning and the end of a sequence.
//
// Input shape: (batch, steps, channels). Output shape: the same with n - before - after for each length n. A mask does
// not pass through.
type Cropping1D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Cropping []int `keras:"cropping,length=2,default=1"` // before and after, or one number for both; nil is 1
}

// Forward computes the layer.
func (l *Cropping1D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return cropSpatial(x, "", firstAndLast(x, "Cropping", l.Cropping, 1))
}

// Cropping2D removes cells from the beginning and the end of the axes of an image.
//
// Input shape: (batch, height, width, channels). Output shape: the same with n - before - after for each length n. With
// DataFormat ChannelsFirst the channels come after the batch. A mask does not pass through.
type Cropping2D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	// Cropping has, for each axis, the amounts before and after, {{1, 2}, {0, 3}}, or one number for both, {{1}, {2}};
	// a single entry stands for all axes. nil is {{0}}.
	Cropping   [][]int    `keras:"cropping,default=[[0,0],[0,0]]"`
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *Cropping2D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return cropSpatial(x, l.DataFormat, axisPairs(x, "Cropping", l.Cropping, 2, 0))
}

// AmendConfig writes the amounts as pairs, the form that Keras reads in all versions.
func (l *Cropping2D) AmendConfig(keys map[string]any) error {
	return amendPairs(keys, "cropping", l.Cropping, 2)
}

// Cropping3D removes cells from the beginning and the end of the axes of a volume.
//
// Input shape: (batch, depth, height, width, channels). Output shape: the same with n - before - after for each length
// n. With DataFormat ChannelsFirst the channels come after the batch. A mask does not pass through.
type Cropping3D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	// Cropping has, for each axis, the amounts before and after, {{1, 2}, {0, 3}}, or one number for both, {{1}, {2}};
	// a single entry stands for all axes. nil is {{1}}.
	Cropping   [][]int    `keras:"cropping,default=[[1,1],[1,1],[1,1]]"`
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *Cropping3D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return cropSpatial(x, l.DataFormat, axisPairs(x, "Cropping", l.Cropping, 3, 1))
}

// AmendConfig writes the amounts as pairs, the form that Keras reads in all versions.
func (l *Cropping3D) AmendConfig(keys map[string]any) error {
	return amendPairs(keys, "cropping", l.Cropping, 3)
}

func init() {
	Register[Cropping1D]()
	Register[Cropping2D]()
	Register[Cropping3D]()
}
