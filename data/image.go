package data

import (
	"fmt"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"io"
	"os"

	_ "golang.org/x/image/bmp"
)

// ColorMode says which channels an image is read with.
type ColorMode string

const (
	RGB       ColorMode = "rgb"       // 3 channels, transparency ignored; the zero value "" also means RGB
	RGBA      ColorMode = "rgba"      // 4 channels; the fourth is 255 where an image has no transparency
	Grayscale ColorMode = "grayscale" // 1 channel, the luma 0.299 R + 0.587 G + 0.114 B of ITU-R BT.601, rounded; folders have that of the file format
)

func (m ColorMode) channels() (int, error) {
	switch m {
	case "", RGB:
		return 3, nil
	case RGBA:
		return 4, nil
	case Grayscale:
		return 1, nil
	default:
		return 0, fmt.Errorf("color mode %q; expected %q, %q or %q", m, RGB, RGBA, Grayscale)
	}
}

// LoadImage reads a PNG, JPEG, GIF (its first frame) or BMP file as a float32 array of shape (height, width, channels)
// with values from 0 to 255. A height and width other than 0 resize it bilinearly, with half-pixel centres and without
// antialiasing. Colours are not premultiplied by their transparency, and 16-bit channels are reduced to the upper byte.
//
// It is Keras's load_img followed by img_to_array. JPEG values may differ from those of TensorFlow by a few units,
// because TensorFlow decodes with an inexact transform and interpolates colours differently.
func LoadImage(path string, height, width int, mode ColorMode) (Array, error) {
	d, err := loadImage(path, height, width, mode, Bilinear, stretch, nil)
	if err != nil {
		return Array{}, fmt.Errorf("data: LoadImage: %w", err)
	}
	return d, nil
}

// loadImage is LoadImage; grey, if it is not nil, converts an image to greyscale before it is resized.
func loadImage(path string, height, width int, mode ColorMode, m Interpolation, fit fitMode, grey func(img image.Image, format string) image.Image) (Array, error) {
	channels, err := mode.channels()
	if err != nil {
		return Array{}, err
	}
	if height < 0 || width < 0 || (height == 0) != (width == 0) {
		return Array{}, fmt.Errorf("size %d x %d; expected a positive height and width, or 0 x 0 to keep that of the image", height, width)
	}
	if _, ok := volume([]int{height, width, channels}, 4); !ok {
		return Array{}, fmt.Errorf("size %d x %d is too large for memory", height, width)
	}
	f, err := os.Open(path)
	if err != nil {
		return Array{}, err
	}
	defer f.Close()
	img, format, err := decodeImage(f)
	if err != nil {
		return Array{}, fmt.Errorf("%s: %w", path, err)
	}
	if channels == 1 && grey != nil {
		img = grey(img, format)
	}
	if height == 0 {
		size := img.Bounds().Size()
		height, width = size.Y, size.X
	}
	return wrap(resizeImage(img, channels, height, width, m, fit), height, width, channels), nil
}

// maxPixels is the size of the largest image that is read, the same limit as Pillow's.
const maxPixels = 1 << 30 / 6

// pixelsPerByte bounds how many pixels one byte of a file can stand for, so that a small file that promises a huge
// image is refused before memory is allocated. PNG: DEFLATE expands at most 1032 times, to bytes of up to 8 pixels.
// GIF: an LZW code of 12 bits stands for less than 4096 pixels. JPEG: a block of 64 pixels takes more than half a bit
// in each of its scans. BMP: not compressed.
var pixelsPerByte = map[string]int64{"png": 1032 * 8, "gif": 4096, "jpeg": 1024, "bmp": 8}

func decodeImage(f *os.File) (img image.Image, format string, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	config, format, err := image.DecodeConfig(f)
	if err != nil {
		return nil, "", err
	}
	w, h := int64(config.Width), int64(config.Height)
	switch {
	case w < 1 || h < 1:
		return nil, "", fmt.Errorf("%s: the image is %d x %d pixels", format, w, h)
	case h > maxPixels/w:
		return nil, "", fmt.Errorf("%s: the image is %d x %d pixels; at most %d are read", format, w, h, maxPixels)
	case pixelsPerByte[format] > 0 && w*h/pixelsPerByte[format] > info.Size(): // not of formats that a program has registered itself
		return nil, "", fmt.Errorf("%s: the header promises %d x %d pixels, more than %d bytes can hold", format, w, h, info.Size())
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, "", err
	}
	return image.Decode(f)
}
