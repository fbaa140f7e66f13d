package plot

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"github.com/golang/freetype/raster"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
)

// maxPixels limits the memory of an image, at four bytes per pixel.
const maxPixels = 64 << 20

// writePNG draws a scene as an image.
func writePNG(w io.Writer, s *scene, dpi int) error {
	inches := s.w / 72 * s.h / 72
	dpi = min(dpi, int(math.Sqrt(maxPixels/inches)))
	if dpi < 4 {
		return fmt.Errorf("the drawing is %.0f by %.0f inches, too large for a picture that can be read; write a .svg file", s.w/72, s.h/72)
	}
	return png.Encode(w, paint(s, dpi))
}

// paint draws a scene on a white background.
func paint(s *scene, dpi int) *image.RGBA {
	scale := float64(dpi) / 72
	bounds := image.Rect(0, 0, int(s.w*scale+0.5), int(s.h*scale+0.5))
	c := &canvas{img: image.NewRGBA(bounds), scale: scale, dpi: float64(dpi), raster: raster.NewRasterizer(bounds.Dx(), bounds.Dy())}
	c.raster.UseNonZeroWinding = true
	draw.Draw(c.img, bounds, image.White, image.Point{}, draw.Src)
	for _, item := range s.items {
		switch v := item.(type) {
		case shape:
			c.shape(v)
		case text:
			c.text(v)
		}
	}
	return c.img
}

// canvas is an image being painted. It replaces the canvas of gonum's plot, which links four megabytes that are not
// needed here: other image formats, formulas and eleven more fonts.
type canvas struct {
	img    *image.RGBA
	scale  float64 // pixels per unit of the drawing
	dpi    float64
	raster *raster.Rasterizer
}

func (c *canvas) shape(v shape) {
	lines := c.flatten(v.path)
	if v.fill.A > 0 {
		c.raster.Clear()
		for _, l := range lines {
			c.raster.AddPath(rasterPath(l))
		}
		c.apply(v.fill)
	}
	if v.stroke.A > 0 && v.width > 0 {
		if v.dashed {
			lines = dashes(lines, 5*c.scale, 4*c.scale)
		}
		c.raster.Clear()
		for _, l := range lines {
			c.raster.AddStroke(rasterPath(l), fixed.Int26_6(v.width*c.scale*64), raster.ButtCapper, raster.RoundJoiner)
		}
		c.apply(v.stroke)
	}
}

// apply paints what the rasterizer holds.
func (c *canvas) apply(ink color.NRGBA) {
	p := raster.NewRGBAPainter(c.img)
	p.SetColor(ink)
	c.raster.Rasterize(p)
}

func (c *canvas) text(v text) {
	f := face(v.size, v.bold)
	at := f.FontFace(c.dpi)
	defer at.Close()
	d := xfont.Drawer{Dst: c.img, Src: image.NewUniform(v.color), Face: at, Dot: toFixed(point{v.x * c.scale, v.y * c.scale})}
	d.DrawString(printable(v.s))
}

// flatten converts a path to lines, in pixels.
func (c *canvas) flatten(path []segment) [][]point {
	var lines [][]point
	for _, s := range path {
		for i, p := range s.p {
			s.p[i] = point{p.x * c.scale, p.y * c.scale}
		}
		if s.kind == 'M' {
			lines = append(lines, []point{s.p[0]})
			continue
		}
		l := &lines[len(lines)-1]
		switch from := (*l)[len(*l)-1]; s.kind {
		case 'L':
			*l = append(*l, s.p[0])
		case 'C':
			reach := apart(from, s.p[0]) + apart(s.p[0], s.p[1]) + apart(s.p[1], s.p[2])
			for n, i := 4+int(math.Sqrt(reach)), 1; i <= n; i++ {
				*l = append(*l, bezier(from, s.p, float64(i)/float64(n)))
			}
		case 'Z':
			*l = append(*l, (*l)[0])
		}
	}
	return lines
}

// bezier returns the point at t in [0, 1] of a cubic curve.
func bezier(from point, p [3]point, t float64) point {
	u := 1 - t
	a, b, c, d := u*u*u, 3*u*u*t, 3*u*t*t, t*t*t
	return point{a*from.x + b*p[0].x + c*p[1].x + d*p[2].x, a*from.y + b*p[0].y + c*p[1].y + d*p[2].y}
}

func apart(a, b point) float64 { return math.Hypot(b.x-a.x, b.y-a.y) }

// dashes cuts lines into dashes of the given length and gap.
func dashes(lines [][]point, length, gap float64) [][]point {
	var out [][]point
	for _, l := range lines {
		drawn, rest := true, length // rest of the current dash or gap
		now := l[:1:1]
		for i := 1; i < len(l); {
			at := now[len(now)-1]
			d := apart(at, l[i])
			if d <= rest {
				now, rest, i = append(now, l[i]), rest-d, i+1
				continue
			}
			t := rest / d
			cut := point{at.x + t*(l[i].x-at.x), at.y + t*(l[i].y-at.y)}
			if drawn {
				out = append(out, append(now, cut))
			}
			drawn, now, rest = !drawn, []point{cut}, gap
			if drawn {
				rest = length
			}
		}
		if drawn && len(now) > 1 {
			out = append(out, now)
		}
	}
	return out
}

// rasterPath drops points equal to the previous one, because such a segment has no direction.
func rasterPath(l []point) raster.Path {
	var path raster.Path
	var last fixed.Point26_6
	for i, p := range l {
		f := toFixed(p)
		switch d := f.Sub(last); {
		case i == 0:
			path.Start(f)
		case max(d.X, -d.X, d.Y, -d.Y) > 4 || i == len(l)-1:
			path.Add1(f)
		default:
			continue
		}
		last = f
	}
	return path
}

func toFixed(p point) fixed.Point26_6 {
	return fixed.Point26_6{X: fixed.Int26_6(math.Round(p.x * 64)), Y: fixed.Int26_6(math.Round(p.y * 64))}
}
