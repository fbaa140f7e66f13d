package plot_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/plot"
	"github.com/gokeras/gokeras/layers"
)

var everything = []plot.Option{plot.ShowShapes(), plot.ShowDType(), plot.ShowLayerNames(), plot.ShowLayerActivations(), plot.ShowTrainable()}

func models(t testing.TB) map[string]*keras.Model {
	return map[string]*keras.Model{
		"chain": chain(t), "residual": residual(t, 6), "inception": inception(t), "siamese": siamese(t), "recurring": recurring(t),
		"narrow": narrow(t),
	}
}

// In every drawing boxes do not overlap, edges pass through no box and cross no title, and text stays inside its box.
func TestNothingOverlaps(t *testing.T) {
	for name, m := range models(t) {
		for _, direction := range []string{"TB", "LR", "BT", "RL"} {
			for _, nested := range []bool{false, true} {
				options := append([]plot.Option{plot.RankDir(direction)}, everything...)
				if name == "narrow" {
					options = options[:1]
				}
				if nested {
					options = append(options, plot.ExpandNested())
				}
				t.Run(fmt.Sprint(name, direction, nested), func(t *testing.T) { checkPicture(t, plot.Draw(m, options...)) })
			}
		}
	}
}

func checkPicture(t *testing.T, p *plot.Picture) {
	t.Helper()
	require.NotEmpty(t, p.Boxes)
	inside := func(x, y float64, r plot.Rectangle, slack float64) bool {
		return x > r.X-slack && x < r.X+r.W+slack && y > r.Y-slack && y < r.Y+r.H+slack
	}
	for i, a := range p.Boxes {
		require.True(t, a.X >= 1 && a.Y >= 1 && a.X+a.W <= p.W-1 && a.Y+a.H <= p.H-1, "%v leaves the drawing", a)
		for _, b := range p.Boxes[:i] {
			apart := a.X >= b.X+b.W+5 || b.X >= a.X+a.W+5 || a.Y >= b.Y+b.H+5 || b.Y >= a.Y+a.H+5
			within := b.Frame && a.X > b.X && a.Y > b.Y && a.X+a.W < b.X+b.W && a.Y+a.H < b.Y+b.H
			require.True(t, apart || within, "%v and %v overlap", a, b)
		}
	}
	for _, points := range p.Edges {
		for _, at := range points {
			for _, b := range p.Boxes {
				if !b.Frame && inside(at[0], at[1], b, -0.5) {
					t.Fatalf("an edge passes %v at %v", b, at)
				}
			}
			for _, b := range p.Texts {
				if inside(at[0], at[1], b, 0) {
					t.Fatalf("an edge passes the text %v at %v", b, at)
				}
			}
		}
	}
	for i, a := range p.Texts {
		home := false
		for _, b := range p.Boxes {
			home = home || inside(a.X, a.Y, b, -2) && inside(a.X+a.W, a.Y+a.H, b, -2)
		}
		require.True(t, home, "%v is in no box", a)
		for _, b := range p.Texts[:i] {
			if a.X < b.X+b.W-0.01 && b.X < a.X+a.W-0.01 && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Fatalf("%v is written over %v", a, b)
			}
		}
	}
}

// An edge for each tensor, and one more for what enters and leaves an expanded model.
func TestEdges(t *testing.T) {
	require.Len(t, plot.Draw(chain(t)).Edges, 5)
	require.Len(t, plot.Draw(residual(t, 6)).Edges, 6*7+2)
	require.Len(t, plot.Draw(siamese(t)).Edges, 2+2-1+1, "both results of the encoder are one arrow")
	require.Len(t, plot.Draw(recurring(t)).Edges, 4)
}

// An arrow crosses a frame only if it continues outside: the model's own inputs and outputs have none.
func TestPortsLeadSomewhere(t *testing.T) {
	inner, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2}, &layers.Dense{Units: 2}}, keras.InputShape(2), keras.Name("inner"))
	require.NoError(t, err)
	outer, err := keras.NewSequential([]layers.Layer{inner, &layers.Dense{Units: 1}}, keras.InputShape(2))
	require.NoError(t, err)
	require.Len(t, plot.Draw(outer, plot.ExpandNested()).Edges, 1+1+1, "between the two layers, from the second to the frame, and on")
}

func TestModelWritesFiles(t *testing.T) {
	dir := t.TempDir()
	m := siamese(t)
	for _, ending := range []string{".svg", ".png", ".dot", ".SVG"} {
		path := filepath.Join(dir, "model"+ending)
		require.NoError(t, plot.Model(m, path, plot.ShowShapes(), plot.ShowLayerNames(), plot.ExpandNested(), plot.DPI(50)))
		first, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, plot.Model(m, path, plot.ShowShapes(), plot.ShowLayerNames(), plot.ExpandNested(), plot.DPI(50)))
		second, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, first, second, "the same model gives the same bytes")
	}
	f, err := os.Open(filepath.Join(dir, "model.png"))
	require.NoError(t, err)
	defer f.Close()
	image, err := png.Decode(f)
	require.NoError(t, err)
	picture := plot.Draw(m, plot.ShowShapes(), plot.ShowLayerNames(), plot.ExpandNested())
	require.InDelta(t, picture.W/72*50, image.Bounds().Dx(), 1)
	words := readSVG(t, filepath.Join(dir, "model.svg"))
	for _, want := range []string{"encoder", "tower", "features", "left", "(None, 16)", "[(None, 32), (None, 32)]", " (LayerNormalization)"} {
		require.Contains(t, words, want)
	}
	require.NotContains(t, strings.Join(words, " "), "79", "shapes of open axes are None")
}

// readSVG returns the text of a drawing.
func readSVG(t *testing.T, path string) (words []string) {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	d := xml.NewDecoder(f)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return words
		}
		require.NoError(t, err)
		if text, ok := token.(xml.CharData); ok && strings.TrimSpace(string(text)) != "" {
			words = append(words, string(text))
		}
	}
}

func TestDotIsThatOfKeras(t *testing.T) {
	in := keras.Input(keras.Shape(4), keras.InputName("x"))
	m := functional(t, keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Dense{Units: 2, Activation: "relu"}, in)))
	path := filepath.Join(t.TempDir(), "m.dot")
	require.NoError(t, plot.Model(m, path, everything...))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	// The labels are those of keras.utils.model_to_dot of Keras 3.15.1 for this model.
	require.Contains(t, string(got), `<<table border="0" cellborder="1" bgcolor="black" cellpadding="10"><tr><td colspan="2" bgcolor="black"><font point-size="16" color="white"><b>x</b> (InputLayer)</font></td></tr><tr><td bgcolor="white"><font point-size="14">Output shape: <b>(None, 4)</b></font></td><td bgcolor="white"><font point-size="14">Output dtype: <b>float32</b></font></td></tr></table>>`)
	require.Contains(t, string(got), `Activation: <b>relu</b>`)
	require.Contains(t, string(got), "layer_0 -> layer_1 [penwidth=2];")
}

func TestModelRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.svg")
	open, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}})
	require.NoError(t, err)
	require.ErrorContains(t, plot.Model(open, path), "not built")
	require.ErrorContains(t, plot.Model(nil, path), "nil")
	require.ErrorContains(t, plot.Model(chain(t), "m.gif"), ".svg, .png or .dot")
	require.ErrorContains(t, plot.Model(chain(t), path, plot.RankDir("up")), `"up"`)
	require.ErrorContains(t, plot.Model(chain(t), path, plot.DPI(-1)), "DPI")
	require.ErrorIs(t, plot.Model(chain(t), filepath.Join(path, "none", "m.svg")), os.ErrNotExist)
}

// A subclass is one box: its calls are unknown before it runs.
func TestSubclass(t *testing.T) {
	m, err := keras.NewModel(&block{Inner: &layers.Dense{Units: 3}})
	require.NoError(t, err)
	require.NoError(t, m.Build([]int{layers.Unknown, 4}))
	require.Len(t, plot.Draw(m, everything...).Boxes, 1)
}
