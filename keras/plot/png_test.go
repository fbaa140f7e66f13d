package plot

import (
	"image"
	"image/color"
	"testing"

	"github.com/stretchr/testify/require"
)

// inked sums the darkness of the pixels in a part of an image, in units of the drawing: the area that is black.
func inked(img *image.RGBA, part image.Rectangle, dpi int) float64 {
	sum := 0.0
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			sum += 1 - float64(img.RGBAAt(x, y).R)/255
		}
	}
	return sum * 72 / float64(dpi) * 72 / float64(dpi)
}

func TestPaintAreas(t *testing.T) {
	black := color.NRGBA{A: 255}
	square := []segment{move(point{10, 10}), line(point{50, 10}), line(point{50, 50}), line(point{10, 50}), closed()}
	level := []segment{move(point{5, 30}), line(point{95, 30})}
	const round = 3.14159265
	for name, c := range map[string]struct {
		shape shape
		area  float64
	}{
		"fill":          {shape{path: square, fill: black}, 1600},
		"half fill":     {shape{path: square, fill: color.NRGBA{A: 128}}, 1600 * 128 / 255.},
		"circle":        {shape{path: roundRect(20, 20, 60, 60, 30, 30), fill: black}, round * 900},
		"line":          {shape{path: level, stroke: black, width: 3}, 270},
		"dashed":        {shape{path: level, stroke: black, width: 3, dashed: true}, 3 * 5 * 10},
		"dashed corner": {shape{path: []segment{move(point{5, 5}), line(point{5, 50}), line(point{50, 50})}, stroke: black, width: 2, dashed: true}, 2 * 5 * 10},
		"ring":          {shape{path: roundRect(20, 20, 60, 60, 30, 30), stroke: black, width: 2}, round * 60 * 2},
		"no width":      {shape{path: square, stroke: black}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dpi := range []int{72, 200} {
				img := paint(&scene{w: 100, h: 100, items: []any{c.shape}}, dpi)
				require.InEpsilon(t, 1+c.area, 1+inked(img, img.Bounds(), dpi), 0.01, "%d dots an inch", dpi)
			}
		})
	}
}

func TestPaintText(t *testing.T) {
	const dpi = 144
	word := text{x: 10, y: 30, size: 20, color: color.NRGBA{A: 255}, s: "Hill"}
	img := paint(&scene{w: 100, h: 40, items: []any{word}}, dpi)
	all := inked(img, img.Bounds(), dpi)
	require.Greater(t, all, 50.0)
	end := 10 + textWidth("Hill", 20, false)
	within := image.Rect(10*2, 14*2, int(end*2)+1, 30*2+1) // the letters stand on the baseline, 0.73 of their size high
	require.InEpsilon(t, all, inked(img, within, dpi), 0.001)
	word.bold = true
	require.Greater(t, inked(paint(&scene{w: 100, h: 40, items: []any{word}}, dpi), img.Bounds(), dpi), 1.3*all)
}
