package tensorboard

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"strconv"
)

// maxImages is the number of pictures of a batch that are written, as in TensorBoard.
const maxImages = 3

// Images adds gray (channels 1), colour (3) or transparent (4) pictures with values from 0 to 1, in the order (picture,
// row, column, channel). Only the first three are written.
func (w *Writer) Images(step int64, tag string, values []float64, height, width, channels int) error {
	size := height * width * channels
	v := &Value{Tag: tag, Plugin: "images", Strings: [][]byte{[]byte(strconv.Itoa(width)), []byte(strconv.Itoa(height))}}
	for i := 0; i < maxImages && size > 0 && (i+1)*size <= len(values); i++ {
		picture, err := encodeImage(values[i*size:(i+1)*size], height, width, channels)
		if err != nil {
			return err
		}
		v.Strings = append(v.Strings, picture)
	}
	v.Shape = []int{len(v.Strings)}
	return w.Write(step, v)
}

func encodeImage(values []float64, height, width, channels int) ([]byte, error) {
	level := func(v float64) uint8 {
		if v != v {
			return 0
		}
		return uint8(min(max(math.Trunc(v*255.5), 0), 255))
	}
	var picture image.Image
	if channels == 1 {
		gray := image.NewGray(image.Rect(0, 0, width, height))
		for i, v := range values {
			gray.Pix[i] = level(v)
		}
		picture = gray
	} else {
		colored := image.NewNRGBA(image.Rect(0, 0, width, height))
		for i := range width * height {
			c := color.NRGBA{A: 255}
			c.R, c.G, c.B = level(values[i*channels]), level(values[i*channels+1]), level(values[i*channels+2])
			if channels == 4 {
				c.A = level(values[i*channels+3])
			}
			colored.SetNRGBA(i%width, i/width, c)
		}
		picture = colored
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
