package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/keras/plot"
)

func newPlot() *cobra.Command {
	return &cobra.Command{
		Use:     "plot MODEL|HISTORY.json OUT",
		Short:   "Draw the layers of a model, or the curves of a training run",
		Long:    "Draw the layers of a model, or the curves in the history of a training run, to an .svg or .png file; models also to .dot.",
		Example: "  keras plot model.keras model.svg\n  keras plot history.json curves.png",
		Args:    exactly("MODEL|HISTORY.json", "OUT"),
		RunE: func(_ *cobra.Command, args []string) error {
			in, out := args[0], args[1]
			curves := filepath.Ext(in) == ".json" && !isModel(in)
			if ext := filepath.Ext(out); !slices.Contains([]string{".svg", ".png"}, ext) && (curves || ext != ".dot") {
				expected := ".svg, .png or .dot"
				if curves {
					expected = ".svg or .png"
				}
				return usagef("plot: %s: unknown kind of file; expected %s", out, expected)
			}
			if err := checkPlace("plot: ", out); err != nil {
				return err
			}
			if curves {
				return plot.HistoryFile(in, out)
			}
			m, err := loadModel(in)
			if err != nil {
				return err
			}
			return plot.Model(m, out, plot.ShowShapes(), plot.ShowLayerNames())
		},
	}
}

// isModel reports whether a JSON file is the configuration of a model.
func isModel(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	var o struct {
		ClassName string `json:"class_name"`
	}
	return json.Unmarshal(text, &o) == nil && o.ClassName != ""
}
