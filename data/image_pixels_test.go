package data

import (
	"image"
	"image/color"
	"image/color/palette"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// behind hides of which kind an image is, so that each pixel is read with a call of At. What JPEG files hold becomes
// red, green and blue as in libjpeg, whose numbers are TensorFlow's; package color rounds otherwise.
type behind struct{ image.Image }

func (b behind) At(x, y int) color.Color {
	c, ok := b.Image.At(x, y).(color.YCbCr)
	if !ok {
		return b.Image.At(x, y)
	}
	light, blue, red := float64(c.Y), float64(c.Cb)-128, float64(c.Cr)-128
	level := func(v float64) uint8 { return uint8(min(max(math.Floor(v+0.5), 0), 255)) }
	const unit = 1 << 16
	return color.NRGBA{level(light + red*91881/unit), level(light - blue*22554/unit - red*46802/unit), level(light + blue*116130/unit), 255}
}

// drawnImage is an image of any kind, often a part of a larger one, which need not begin at 0.
func drawnImage(rng *rand.Rand) image.Image {
	left, top := rng.IntN(9)-4, rng.IntN(9)-4
	r := image.Rect(left, top, left+1+rng.IntN(12), top+1+rng.IntN(12))
	noise := func(pix []byte) {
		for i := range pix {
			pix[i] = byte(rng.Uint32())
		}
	}
	var img interface {
		image.Image
		SubImage(r image.Rectangle) image.Image
	}
	ratios := []image.YCbCrSubsampleRatio{
		image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420, image.YCbCrSubsampleRatio440,
		image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410,
	}
	chroma := func(p *image.YCbCr) {
		noise(p.Y)
		noise(p.Cb)
		noise(p.Cr)
	}
	kind := rng.IntN(12)
	if kind >= 2 && kind <= 5 { // package image itself cannot read all of these before 0
		r = r.Add(image.Pt(4, 4))
	}
	switch kind {
	case 0:
		p := image.NewNRGBA(r)
		noise(p.Pix)
		img = p
	case 1:
		p := image.NewRGBA(r)
		noise(p.Pix)
		for i := 0; i < len(p.Pix); i += 4 { // what is premultiplied is at most its transparency
			for j := range 3 {
				p.Pix[i+j] = min(p.Pix[i+j], p.Pix[i+3])
			}
		}
		img = p
	case 2, 3, 4:
		p := image.NewYCbCr(r, ratios[rng.IntN(len(ratios))])
		chroma(p)
		img = p
	case 5:
		p := image.NewNYCbCrA(r, ratios[rng.IntN(len(ratios))])
		chroma(&p.YCbCr)
		noise(p.A)
		img = p
	case 6:
		p := image.NewGray(r)
		noise(p.Pix)
		img = p
	case 7:
		colours := append(color.Palette{color.NRGBA{10, 20, 30, 0}, color.NRGBA{200, 100, 50, 77}}, palette.WebSafe[:1+rng.IntN(200)]...)
		p := image.NewPaletted(r, colours)
		for i := range p.Pix {
			p.Pix[i] = uint8(rng.IntN(len(colours)))
		}
		img = p
	case 8:
		p := image.NewGray16(r)
		noise(p.Pix)
		img = p
	case 9:
		p := image.NewNRGBA64(r)
		noise(p.Pix)
		img = p
	case 10:
		p := image.NewCMYK(r)
		noise(p.Pix)
		img = p
	default:
		p := image.NewAlpha(r)
		noise(p.Pix)
		img = p
	}
	if rng.IntN(3) == 0 {
		return img
	}
	part := r
	part.Min.X += rng.IntN(r.Dx())
	part.Min.Y += rng.IntN(r.Dy())
	part.Max.X = part.Min.X + 1 + rng.IntN(part.Dx())
	part.Max.Y = part.Min.Y + 1 + rng.IntN(part.Dy())
	return img.SubImage(part)
}

// Pixels are those that At returns, whatever the kind of the image, wherever it begins, and whatever it is resized to.
func TestPixelsOfAllKinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(27118000, 1))
	for n := range 3000 {
		img := drawnImage(rng)
		size := img.Bounds().Size()
		height, width := size.Y, size.X
		if rng.IntN(2) == 0 {
			height, width = 1+rng.IntN(20), 1+rng.IntN(20)
		}
		channels := []int{1, 3, 4}[rng.IntN(3)]
		m := []Interpolation{Bilinear, Nearest, Bicubic, Lanczos3, Area}[rng.IntN(5)]
		fit := fitMode(rng.IntN(3))
		want := resizeImage(behind{img}, channels, height, width, m, fit)
		require.Equal(t, want, resizeImage(img, channels, height, width, m, fit), "%d: %T %v as %d channels to %d x %d, %v, %v", n, img, img.Bounds(), channels, height, width, m, fit)
	}
}
