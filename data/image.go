package data

import (
	"fmt"
	"image"
	"image/color"
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
	Grayscale ColorMode = "grayscale" // 1 channel, the luma 0.299 R + 0.587 G + 0.114 B of ITU-R BT.601
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
// Keras's load_img and img_to_array. JPEG values may differ from those of TensorFlow by a few units: it decodes with an
// inexact transform, and colours are interpolated differently.
func LoadImage(path string, height, width int, mode ColorMode) (Array, error) {
	d, err := loadImage(path, height, width, mode, Bilinear, stretch)
	if err != nil {
		return Array{}, fmt.Errorf("data: LoadImage: %w", err)
	}
	return d, nil
}

func loadImage(path string, height, width int, mode ColorMode, m Interpolation, fit fitMode) (Array, error) {
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
	img, err := decodeImage(f)
	if err != nil {
		return Array{}, fmt.Errorf("%s: %w", path, err)
	}
	if height == 0 {
		size := img.Bounds().Size()
		height, width = size.Y, size.X
	}
	return wrap(resizeImage(img, channels, height, width, m, fit), height, width, channels), nil
}

// maxPixels is the largest image that is read, whatever its file says; it is the limit of Pillow too.
const maxPixels = 1 << 30 / 6

// pixelsPerByte bounds how many pixels one byte of a file can stand for, so that a small file that promises a huge
// image is refused before memory is allocated. PNG: DEFLATE expands at most 1032 times, to bytes of up to 8 pixels.
// GIF: an LZW code of 12 bits stands for less than 4096 pixels. JPEG: a block of 64 pixels takes more than half a bit
// in each of its scans. BMP: not compressed.
var pixelsPerByte = map[string]int64{"png": 1032 * 8, "gif": 4096, "jpeg": 1024, "bmp": 8}

func decodeImage(f *os.File) (image.Image, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	config, format, err := image.DecodeConfig(f)
	if err != nil {
		return nil, err
	}
	w, h := int64(config.Width), int64(config.Height)
	switch {
	case w < 1 || h < 1:
		return nil, fmt.Errorf("%s: the image is %d x %d pixels", format, w, h)
	case h > maxPixels/w:
		return nil, fmt.Errorf("%s: the image is %d x %d pixels; at most %d are read", format, w, h, maxPixels)
	case w*h/pixelsPerByte[format] > info.Size():
		return nil, fmt.Errorf("%s: the header promises %d x %d pixels, more than %d bytes can hold", format, w, h, info.Size())
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	img, _, err := image.Decode(f)
	return img, err
}

// pixelReader returns a function that reads one pixel without premultiplication. The usual kinds of image are read
// without the allocation that img.At makes.
func pixelReader(img image.Image) func(x, y int) color.NRGBA {
	convert := func(c color.Color) color.NRGBA { return color.NRGBAModel.Convert(c).(color.NRGBA) }
	switch img := img.(type) {
	case *image.NRGBA:
		return img.NRGBAAt
	case *image.RGBA:
		return func(x, y int) color.NRGBA {
			c := img.RGBAAt(x, y)
			if c.A == 255 {
				return color.NRGBA(c)
			}
			return convert(c)
		}
	case *image.YCbCr:
		return func(x, y int) color.NRGBA {
			c := img.YCbCrAt(x, y)
			r, g, b := color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
			return color.NRGBA{R: r, G: g, B: b, A: 255}
		}
	case *image.Gray:
		return func(x, y int) color.NRGBA {
			v := img.GrayAt(x, y).Y
			return color.NRGBA{R: v, G: v, B: v, A: 255}
		}
	case *image.Paletted:
		palette := make([]color.NRGBA, 256)
		for i, c := range img.Palette {
			palette[i] = convert(c)
		}
		return func(x, y int) color.NRGBA { return palette[img.ColorIndexAt(x, y)] }
	}
	return func(x, y int) color.NRGBA { return convert(img.At(x, y)) }
}

// channelsOf writes a pixel as 1, 3 or 4 channels, as many as out has places.
func channelsOf(c color.NRGBA, out []float32) {
	if len(out) == 1 {
		out[0] = luma(c)
		return
	}
	out[0], out[1], out[2] = float32(c.R), float32(c.G), float32(c.B)
	if len(out) == 4 {
		out[3] = float32(c.A)
	}
}

// luma rounds 0.299 R + 0.587 G + 0.114 B, in units of 2^-16.
func luma(c color.NRGBA) float32 {
	return float32((19595*uint32(c.R) + 38470*uint32(c.G) + 7471*uint32(c.B) + 1<<15) >> 16)
}

// resizeBilinear returns the channels of an image of another size, in row-major order.
//
// Output pixel i lies at (i + 0.5) * in/out - 0.5 on each axis of the input (half-pixel centres) and is interpolated
// linearly between the two input pixels around it, the outermost ones repeated. There is no antialiasing: shrinking by
// more than 2 leaves pixels out. TensorFlow's tf.image.resize(method="bilinear"), which Keras calls.
func resizeBilinear(img image.Image, channels, height, width int) []float32 {
	at, bounds := pixelReader(img), img.Bounds()
	columns := resizePoints(bounds.Dx(), width)
	out := make([]float32, height*width*channels)
	next := out
	var corners [4][4]float32 // top left, top right, bottom left, bottom right
	for _, r := range resizePoints(bounds.Dy(), height) {
		top, bottom := bounds.Min.Y+r.lower, bounds.Min.Y+r.upper
		for _, c := range columns {
			left, right := bounds.Min.X+c.lower, bounds.Min.X+c.upper
			channelsOf(at(left, top), corners[0][:channels])
			channelsOf(at(right, top), corners[1][:channels])
			channelsOf(at(left, bottom), corners[2][:channels])
			channelsOf(at(right, bottom), corners[3][:channels])
			for k := range channels {
				t := corners[0][k] + float32((corners[1][k]-corners[0][k])*c.weight)
				b := corners[2][k] + float32((corners[3][k]-corners[2][k])*c.weight)
				next[k] = t + float32((b-t)*r.weight)
			}
			next = next[channels:]
		}
	}
	return out
}

// resizePoint is the place of an output pixel between two input pixels of an axis.
type resizePoint struct {
	lower, upper int
	weight       float32 // of upper
}

func resizePoints(in, out int) []resizePoint {
	points := make([]resizePoint, out)
	scale := float32(in) / float32(out)
	for i := range points {
		at := float32((float32(i)+0.5)*scale) - 0.5
		floor := int(at)
		if at < 0 {
			floor = -1
		}
		points[i] = resizePoint{lower: max(floor, 0), upper: min(floor+1, in-1), weight: at - float32(floor)}
	}
	return points
}
