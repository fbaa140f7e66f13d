package plot

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/keras"
)

// Model draws the graph of a model's layers to a file; the ending ".svg", ".png" or ".dot" of path determines the
// format.
//
// Each layer is one box, even if it is called several times, and each tensor passed between layers is an arrow. As in
// Keras's plot_model, a Sequential model has no box for its input, and a subclassed model, whose connections are
// unknown before it runs, is one box. The model must be built, so that its shapes are known.
func Model(m *keras.Model, path string, options ...Option) error {
	if m == nil {
		return fmt.Errorf("plot: Model: the model is nil")
	}
	c, err := configure(options)
	if err != nil {
		return fmt.Errorf("plot: Model: %w", err)
	}
	extension := strings.ToLower(filepath.Ext(path))
	switch extension {
	case ".svg", ".png", ".dot":
	default:
		return fmt.Errorf("plot: Model: the file is %q; expected a name that ends in .svg, .png or .dot", path)
	}
	d := newDiagram(m, &c)
	if !built(d) {
		return fmt.Errorf("plot: Model: model %q is not built yet; give it an input shape, call Build, or train it first", m.Name())
	}
	err = atomicfile.Write(path, func(w io.Writer) error {
		if extension == ".dot" {
			return writeDOT(w, d, &c)
		}
		s := newScene(d, &c)
		if extension == ".svg" {
			return writeSVG(w, s)
		}
		return writePNG(w, s, c.dpi)
	})
	if err != nil {
		return fmt.Errorf("plot: Model: %w", err)
	}
	return nil
}

// built reports whether the results of all layers are known.
func built(d *diagram) bool {
	for _, b := range d.boxes {
		if b.out == nil || b.inner != nil && !built(b.inner) {
			return false
		}
	}
	return len(d.boxes) > 0
}
