package data

import (
	"encoding/binary"
	"image"
	"image/color"
)

// greyAsDecoded returns the image that TensorFlow's decoders, and with them Keras's image_dataset_from_directory,
// produce when one channel is requested. For PNG that is libpng's grey, which rounds 8-bit values down; it rounds
// 16-bit values to nearest, and then down to 8 bits. For JPEG it is the luma stored in the file. Other formats stay as
// they are: TensorFlow cannot decode them to grey.
func greyAsDecoded(img image.Image, format string) image.Image {
	r := img.Bounds()
	switch img := img.(type) {
	case *image.Gray, *image.Gray16:
		return img
	case *image.YCbCr:
		return &image.Gray{Pix: img.Y, Stride: img.YStride, Rect: r}
	case *image.RGBA64:
		return greyOf16(img.Pix, img.Stride, r)
	case *image.NRGBA64:
		return greyOf16(img.Pix, img.Stride, r)
	}
	if format != "png" {
		return img
	}
	out := image.NewGray(r)
	columns, row := make([]int, r.Dx()), make([]color.NRGBA, r.Dx())
	for x := range columns {
		columns[x] = r.Min.X + x
	}
	read := columnReader(img, columns)
	for y := range r.Dy() {
		read(r.Min.Y+y, row)
		for x, c := range row {
			out.Pix[y*out.Stride+x] = uint8(libpngGrey(uint32(c.R), uint32(c.G), uint32(c.B)) >> 15)
		}
	}
	return out
}

// libpngGrey is the grey of a colour, in units of 2^-15.
func libpngGrey(r, g, b uint32) uint32 { return 9797*r + 19234*g + 3737*b }

// greyOf16 is the upper byte of the grey of pixels with four channels of 16 bits.
func greyOf16(pix []uint8, stride int, r image.Rectangle) *image.Gray {
	out := image.NewGray(r)
	for y := range r.Dy() {
		for x := range r.Dx() {
			p := pix[y*stride+8*x:][:8]
			v := libpngGrey(uint32(binary.BigEndian.Uint16(p)), uint32(binary.BigEndian.Uint16(p[2:])), uint32(binary.BigEndian.Uint16(p[4:])))
			out.Pix[y*out.Stride+x] = uint8((v + 1<<14) >> 23)
		}
	}
	return out
}
