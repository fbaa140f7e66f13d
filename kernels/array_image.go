package kernels

import (
	"fmt"
	"image"
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Image returns a copy of an array (height, width, channels) as an image: gray with 1 channel or no channel axis, red,
// green and blue with 3, and with opacity too, not premultiplied, with 4. Values are those of data.LoadImage, 0 to 255;
// floats are rounded, and values outside are clipped. For a batch use [Array.Row].
func (a Array) Image() (image.Image, error) {
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("kernels: Image: %w", err)
	}
	shape := a.Shape()
	channels := 1
	if len(shape) == 3 {
		channels = shape[2]
	}
	if len(shape) != 2 && len(shape) != 3 || channels != 1 && channels != 3 && channels != 4 {
		return nil, fmt.Errorf("kernels: Image: the array has shape %v; expected (height, width) or (height, width, channels) with 1, 3 or 4 channels (Row takes one of a batch)", shape)
	}
	bounds := image.Rect(0, 0, shape[1], shape[0])
	if channels == 1 {
		img := image.NewGray(bounds)
		for i := range img.Pix {
			img.Pix[i] = a.pixel(i)
		}
		return img, nil
	}
	img := image.NewNRGBA(bounds)
	for i := range len(img.Pix) / 4 {
		img.Pix[4*i+3] = 255
		for c := range channels {
			img.Pix[4*i+c] = a.pixel(i*channels + c)
		}
	}
	return img, nil
}

func (a Array) pixel(i int) uint8 {
	if a.Type.DType == ir.Uint8 {
		return a.Data[i]
	}
	v := a.Element(i)
	if v != v {
		return 0
	}
	return uint8(max(0, min(255, math.RoundToEven(v))))
}
