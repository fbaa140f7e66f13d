package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/saving"
)

// weightEndings are the endings of files with weights alone.
var weightEndings = append([]string{".weights.h5", ".weights.json"}, saving.FormatEndings()...)

// alternatives lists endings for messages: the given ones and those of the other weight formats.
func alternatives(endings ...string) string {
	endings = append(endings, saving.FormatEndings()...)
	last := len(endings) - 1
	return strings.Join(endings[:last], ", ") + " or " + endings[last]
}

func newConvert() *cobra.Command {
	var weights string
	c := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Convert a model between file formats",
		Long: "Convert a model between file formats, named by their endings. IN is a .keras or .h5 file, or the .json of a model.\n" +
			"An .h5 file with weights alone is given to its model with --weights.\n" +
			"OUT is .keras, .json (the configuration), " + alternatives(".weights.h5") + " (the weights), or .onnx.",
		Example: "  keras convert model.h5 model.keras\n  keras convert model.keras model.onnx\n  keras convert model.json model.keras --weights model.safetensors",
		Args:    exactly("IN", "OUT"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkTarget(args[1]); err != nil {
				return err
			}
			m, err := loadModel(args[0])
			if err != nil && strings.HasSuffix(args[0], ".h5") && strings.Contains(err.Error(), "holds weights alone") {
				return usagef("convert: %s holds weights and no model; name the model, and the weights with --weights %s", args[0], args[0])
			}
			if err != nil {
				return err
			}
			if weights != "" {
				if err := m.LoadWeights(weights); err != nil {
					return err
				}
			}
			return write(c.Context(), m, args[1])
		},
	}
	c.Flags().StringVar(&weights, "weights", "", "weights that replace those of the model: "+alternatives(".weights.h5", ".weights.json", ".h5"))
	return c
}

func isWeights(path string) bool {
	return slices.ContainsFunc(weightEndings, func(e string) bool { return strings.HasSuffix(path, e) })
}

// checkTarget refuses an unknown ending before any work is done.
func checkTarget(path string) error {
	ext := filepath.Ext(path)
	if isWeights(path) || ext == ".keras" || ext == ".json" || ext == ".onnx" {
		return checkPlace("convert: ", path)
	}
	return usagef("convert: %s: unknown kind of file; expected .keras, .json, .onnx, %s", path, alternatives(".weights.h5"))
}

// checkModelFile refuses a file name that is not one of a model.
func checkModelFile(path, flag string) error {
	if filepath.Ext(path) != ".keras" {
		return usagef("--%s %s: unknown kind of file; expected .keras", flag, path)
	}
	return nil
}

func write(_ context.Context, m *keras.Model, path string) error {
	switch {
	case isWeights(path):
		return m.SaveWeights(path)
	case filepath.Ext(path) == ".keras":
		return m.Save(path)
	case filepath.Ext(path) == ".onnx":
		return m.Export(path)
	}
	text, err := m.ToJSON()
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, string(text))
		return err
	})
}
