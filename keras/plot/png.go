package plot

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// maxPixels bounds the memory of a picture, four bytes each.
const maxPixels = 64 << 20

// writePNG draws a scene as a picture.
func writePNG(w io.Writer, s *scene, dpi int) error {
	inches := s.w / 72 * s.h / 72
	dpi = min(dpi, int(math.Sqrt(maxPixels/inches)))
	if dpi < 4 {
		return fmt.Errorf("the drawing is %.0f by %.0f inches, too large for a picture that can be read; write a .svg file", s.w/72, s.h/72)
	}
	c := vgimg.NewWith(vgimg.UseWH(vg.Points(s.w), vg.Points(s.h)), vgimg.UseDPI(dpi))
	flip := func(p point) vg.Point { return vg.Point{X: vg.Points(p.x), Y: vg.Points(s.h - p.y)} }
	for _, item := range s.items {
		switch v := item.(type) {
		case shape:
			drawShape(c, v, flip)
		case text:
			c.SetColor(v.color)
			c.FillString(face(v.size, v.bold), flip(point{v.x, v.y}), printable(v.s))
		}
	}
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

func drawShape(c *vgimg.Canvas, v shape, flip func(point) vg.Point) {
	var path vg.Path
	for _, s := range v.path {
		switch s.kind {
		case 'M':
			path.Move(flip(s.p[0]))
		case 'L':
			path.Line(flip(s.p[0]))
		case 'C':
			path.CubeTo(flip(s.p[0]), flip(s.p[1]), flip(s.p[2]))
		case 'Z':
			path.Close()
		}
	}
	if v.fill.A > 0 {
		c.SetColor(v.fill)
		c.Fill(path)
	}
	if v.stroke.A > 0 {
		c.SetColor(v.stroke)
		c.SetLineWidth(vg.Points(v.width))
		if v.dashed {
			c.SetLineDash([]vg.Length{5, 4}, 0)
		} else {
			c.SetLineDash(nil, 0)
		}
		c.Stroke(path)
	}
}
