package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/keras"
)

// History draws the values of each epoch to a ".svg" or ".png" file: a panel for each loss or metric, in which training and
// validation are two curves, over the epochs, which count from 1. Values that are not finite are left out.
func History(h *keras.History, path string) error {
	if h == nil {
		return fmt.Errorf("plot: History: the history is nil; pass what Fit returned")
	}
	return drawHistory(h.Logs, h.Epoch, path)
}

// drawHistory draws named values; epochs are their indexes from 0, nil for 0, 1, 2, ...
func drawHistory(values map[string][]float64, epochs []int, path string) error {
	extension := strings.ToLower(filepath.Ext(path))
	if extension != ".svg" && extension != ".png" {
		return fmt.Errorf("plot: History: the file is %q; expected a name that ends in .svg or .png", path)
	}
	panels := newPanels(values, epochs)
	if len(panels) == 0 {
		return fmt.Errorf("plot: History: there are no values to draw; expected at least one name with a value")
	}
	columns := min(len(panels), 2)
	if len(panels) > 6 {
		columns = 3
	}
	rows := (len(panels) + columns - 1) / columns
	w, h := vg.Length(columns)*panelWidth, vg.Length(rows)*panelHeight
	err := atomicfile.Write(path, func(out io.Writer) error {
		if extension == ".svg" {
			c := vgsvg.New(w, h)
			if err := drawPanels(draw.New(c), panels, columns); err != nil {
				return err
			}
			_, err := c.WriteTo(out)
			return err
		}
		c := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(144))
		if err := drawPanels(draw.New(c), panels, columns); err != nil {
			return err
		}
		_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(out)
		return err
	})
	if err != nil {
		return fmt.Errorf("plot: History: %w", err)
	}
	return nil
}

const (
	panelWidth  = 5.2 * vg.Inch
	panelHeight = 3.5 * vg.Inch
	headHeight  = 0.62 * vg.Inch // title and legend, above the curves, so that the legend covers nothing
)

// panel is one loss or metric.
type panel struct {
	name   string
	curves []curveOf
}

type curveOf struct {
	label  string
	points plotter.XYs
	color  color.Color
	dashed bool
}

var (
	trainColor      = hex(0x1565c0)
	validationColor = hex(0xd84315)
)

// newPanels sorts values into panels: the loss first, then by name; val_ values belong to the name after it.
func newPanels(values map[string][]float64, epochs []int) []panel {
	byName := map[string]*panel{}
	var names []string
	for _, key := range sortedKeys(values) {
		name, validation := strings.CutPrefix(key, "val_")
		if validation {
			if _, known := values[name]; !known {
				name, validation = key, false // a metric that is just called so
			}
		}
		c := curveOf{label: "training", points: finite(values[key], epochs), color: trainColor}
		if validation {
			c = curveOf{label: "validation", points: finite(values[key], epochs), color: validationColor, dashed: true}
		}
		if len(c.points) == 0 {
			continue
		}
		if byName[name] == nil {
			byName[name] = &panel{name: name}
			names = append(names, name)
		}
		byName[name].curves = append(byName[name].curves, c)
	}
	slices.SortStableFunc(names, func(a, b string) int {
		if (a == "loss") != (b == "loss") {
			if a == "loss" {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	panels := make([]panel, len(names))
	for i, name := range names {
		panels[i] = *byName[name]
		slices.SortStableFunc(panels[i].curves, func(a, b curveOf) int { return strings.Compare(a.label, b.label) })
	}
	return panels
}

func sortedKeys(values map[string][]float64) []string {
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// finite places values over their epochs, counted from 1. A name with fewer values than epochs (validation with a frequency) is taken
// to have come at equal distances, the last one at the last multiple.
func finite(values []float64, epochs []int) plotter.XYs {
	every := 1
	if len(values) > 0 && len(epochs) > len(values) {
		every = len(epochs) / len(values)
	}
	var points plotter.XYs
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		x := float64((i+1)*every - 1)
		if at := (i+1)*every - 1; at < len(epochs) {
			x = float64(epochs[at])
		}
		points = append(points, plotter.XY{X: x + 1, Y: v})
	}
	return points
}

func drawPanels(c draw.Canvas, panels []panel, columns int) error {
	c.SetColor(white)
	c.Fill(c.Rectangle.Path())
	rows := (len(panels) + columns - 1) / columns
	for i, p := range panels {
		x := c.Min.X + vg.Length(i%columns)*panelWidth
		y := c.Min.Y + vg.Length(rows-1-i/columns)*panelHeight
		cell := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + panelWidth, Y: y + panelHeight}}}
		if err := p.draw(cell); err != nil {
			return err
		}
	}
	return nil
}

// draw draws a panel: its name and legend in a strip at the top, the curves below.
func (p *panel) draw(c draw.Canvas) error {
	body := plot.New()
	body.BackgroundColor = white
	styleAxes(body)
	body.X.Label.Text = "epoch"
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = hex(0xe6e9ec), hex(0xe6e9ec)
	body.Add(grid)
	first, last, low, high := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, curve := range p.curves {
		lines, dots, err := plotter.NewLinePoints(curve.points)
		if err != nil {
			return err
		}
		lines.Color, lines.Width = curve.color, vg.Points(1.8)
		if curve.dashed {
			lines.Dashes = []vg.Length{vg.Points(6), vg.Points(3)}
		}
		dots.Shape, dots.Color, dots.Radius = draw.CircleGlyph{}, curve.color, vg.Points(2.4)
		body.Add(lines)
		if len(curve.points) <= 40 {
			body.Add(dots)
		}
		for _, xy := range curve.points {
			first, last = min(first, xy.X), max(last, xy.X)
			low, high = min(low, xy.Y), max(high, xy.Y)
		}
	}
	body.X.Min, body.X.Max = first, last
	body.Y.Min, body.Y.Max = roomy(low, high)
	if first == last {
		body.X.Min, body.X.Max = first-1, last+1
	}
	body.X.Tick.Marker = plot.TickerFunc(epochTicks)
	body.Y.Tick.Marker = plot.TickerFunc(valueTicks)
	body.Draw(draw.Crop(c, vg.Points(10), -vg.Points(18), vg.Points(8), -headHeight))
	p.head(c)
	return nil
}

func styleAxes(p *plot.Plot) {
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Tick.Color = hex(0x90a4ae), hex(0x90a4ae)
		a.LineStyle.Width, a.Tick.LineStyle.Width = vg.Points(0.8), vg.Points(0.8)
		a.Label.TextStyle.Color, a.Tick.Label.Color = inkSoft, inkSoft
		a.Label.TextStyle.Font = face(10.5, false).Font
		a.Tick.Label.Font = face(9.5, false).Font
		a.Padding = vg.Points(4)
	}
}

// head writes the name at the left and the legend at the right of the strip above the curves.
func (p *panel) head(c draw.Canvas) {
	baseline := c.Max.Y - vg.Points(27)
	left, right := c.Min.X+vg.Points(14), c.Max.X-vg.Points(18)
	for _, curve := range slices.Backward(p.curves) {
		right -= vg.Points(textWidth(curve.label, 10.5, false))
		c.SetColor(inkSoft)
		c.FillString(face(10.5, false), vg.Point{X: right, Y: baseline}, curve.label)
		right -= vg.Points(30)
		style := draw.LineStyle{Color: curve.color, Width: vg.Points(1.8)}
		if curve.dashed {
			style.Dashes = []vg.Length{vg.Points(6), vg.Points(3)}
		}
		y := baseline + vg.Points(3.5)
		c.StrokeLine2(style, right, y, right+vg.Points(24), y)
		right -= vg.Points(14)
	}
	name := printable(strings.ReplaceAll(p.name, "_", " "))
	for size := 14.0; size > 6; size-- { // a long name is written smaller
		if left+vg.Points(textWidth(name, size, true)) <= right || size == 7 {
			c.SetColor(ink)
			c.FillString(face(size, true), vg.Point{X: left, Y: baseline}, name)
			return
		}
	}
}
