package plot

import (
	"fmt"
	"image/color"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/keras"
)

// History draws the values of each epoch to a ".svg" or ".png" file. Each loss or metric has a panel with a curve for
// training and one for validation, over the epochs, which are counted from 1. Values that are not finite are left out.
func History(h *keras.History, path string) error {
	if h == nil {
		return fmt.Errorf("plot: History: the history is nil; pass what Fit returned")
	}
	return drawHistory(h.Logs, h.Epoch, path)
}

// drawHistory draws named values. epochs are their indices from 0; nil means 0, 1, 2, ...
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
	sc := &scene{w: float64(columns) * panelWidth, h: float64(rows) * panelHeight, title: "history of training"}
	sc.shape(shape{path: roundRect(0, 0, sc.w, sc.h, 0, 0), fill: white})
	for i := range panels {
		panels[i].draw(sc, float64(i%columns)*panelWidth, float64(i/columns)*panelHeight)
	}
	err := atomicfile.Write(path, func(out io.Writer) error {
		if extension == ".svg" {
			return writeSVG(out, sc)
		}
		return writePNG(out, sc, 144)
	})
	if err != nil {
		return fmt.Errorf("plot: History: %w", err)
	}
	return nil
}

// panel is one loss or metric.
type panel struct {
	name   string
	curves []curveOf
}

type curveOf struct {
	label  string
	points []point // epoch and value
	color  color.NRGBA
	dashed bool
}

var (
	trainColor      = hex(0x1565c0)
	validationColor = hex(0xd84315)
)

// newPanels sorts values into panels: the loss first, then by name. Values named val_ are the validation curve of the
// name that follows.
func newPanels(values map[string][]float64, epochs []int) []panel {
	byName := map[string]*panel{}
	var names []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name, validation := strings.CutPrefix(key, "val_")
		if validation {
			if _, known := values[name]; !known {
				name, validation = key, false // a metric whose name begins with val_
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
		curves := panels[i].curves
		sort.SliceStable(curves, func(a, b int) bool { return curves[a].label < curves[b].label })
	}
	return panels
}

// finite assigns values to their epochs, counted from 1. If there are fewer values than epochs (validation with a
// frequency), they are assumed to come at equal distances, the last one at the last multiple.
func finite(values []float64, epochs []int) []point {
	every := 1
	if len(values) > 0 && len(epochs) > len(values) {
		every = len(epochs) / len(values)
	}
	var points []point
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		x := float64((i+1)*every - 1)
		if at := (i+1)*every - 1; at < len(epochs) {
			x = float64(epochs[at])
		}
		points = append(points, point{x + 1, v})
	}
	return points
}
