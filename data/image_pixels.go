package data

import (
	"image"
	"image/color"
)

// columnReader returns a function that reads the pixels of one row at the given columns, without premultiplication.
// The common image types are read without a call for each pixel.
func columnReader(img image.Image, columns []int) func(y int, row []color.NRGBA) {
	left := img.Bounds().Min.X
	switch img := img.(type) {
	case *image.NRGBA:
		return func(y int, row []color.NRGBA) {
			pix := img.Pix[img.PixOffset(left, y):]
			for i, x := range columns {
				p := pix[4*(x-left):][:4]
				row[i] = color.NRGBA{R: p[0], G: p[1], B: p[2], A: p[3]}
			}
		}
	case *image.RGBA:
		return func(y int, row []color.NRGBA) {
			pix := img.Pix[img.PixOffset(left, y):]
			for i, x := range columns {
				p := pix[4*(x-left):][:4]
				row[i] = color.NRGBA{R: p[0], G: p[1], B: p[2], A: p[3]}
				if p[3] != 255 {
					row[i] = withoutAlpha(img.RGBAAt(x, y))
				}
			}
		}
	case *image.YCbCr:
		return lumaChroma(img, columns)
	case *image.Gray:
		return func(y int, row []color.NRGBA) {
			pix := img.Pix[img.PixOffset(left, y):]
			for i, x := range columns {
				v := pix[x-left]
				row[i] = color.NRGBA{R: v, G: v, B: v, A: 255}
			}
		}
	case *image.Paletted:
		palette := make([]color.NRGBA, 256)
		for i, c := range img.Palette {
			palette[i] = withoutAlpha(c)
		}
		return func(y int, row []color.NRGBA) {
			pix := img.Pix[img.PixOffset(left, y):]
			for i, x := range columns {
				row[i] = palette[pix[x-left]]
			}
		}
	}
	return func(y int, row []color.NRGBA) {
		for i, x := range columns {
			row[i] = withoutAlpha(img.At(x, y))
		}
	}
}

func withoutAlpha(c color.Color) color.NRGBA { return color.NRGBAModel.Convert(c).(color.NRGBA) }

// lumaChroma is columnReader for the luma and chroma of JPEG files. The offset of a column's chroma within a row is the
// same for all rows.
func lumaChroma(img *image.YCbCr, columns []int) func(y int, row []color.NRGBA) {
	left, top := img.Rect.Min.X, img.Rect.Min.Y
	chroma := make([]int, len(columns))
	for i, x := range columns {
		chroma[i] = img.COffset(x, top) - img.COffset(left, top)
	}
	return func(y int, row []color.NRGBA) {
		light, at := img.Y[img.YOffset(left, y):], img.COffset(left, y)
		blue, red := img.Cb[at:], img.Cr[at:]
		for i, x := range columns {
			v, at := int32(light[x-left])<<16+1<<15, chroma[i]
			cb, cr := int32(blue[at])-128, int32(red[at])-128
			row[i] = color.NRGBA{
				R: fromFixed(v + 91881*cr), G: fromFixed(v - 22554*cb - 46802*cr), B: fromFixed(v + 116130*cb), A: 255,
			}
		}
	}
}

// fromFixed is the integer part of v, in units of 2^-16, between 0 and 255.
func fromFixed(v int32) uint8 { return uint8(min(max(v, 0)>>16, 255)) }

// channelsOf writes pixels as 1, 3 or 4 channels each.
func channelsOf(pixels []color.NRGBA, channels int, out []float32) {
	switch channels {
	case 1:
		for i, c := range pixels {
			out[i] = luma(c)
		}
	case 3:
		for i, c := range pixels {
			p := out[3*i:][:3]
			p[0], p[1], p[2] = float32(c.R), float32(c.G), float32(c.B)
		}
	default:
		for i, c := range pixels {
			p := out[4*i:][:4]
			p[0], p[1], p[2], p[3] = float32(c.R), float32(c.G), float32(c.B), float32(c.A)
		}
	}
}

// luma rounds 0.299 R + 0.587 G + 0.114 B, in units of 2^-16.
func luma(c color.NRGBA) float32 {
	return float32((19595*uint32(c.R) + 38470*uint32(c.G) + 7471*uint32(c.B) + 1<<15) >> 16)
}
