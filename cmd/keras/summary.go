package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

func newSummary() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "summary MODEL",
		Short:   "Print the layers of a model, their output shapes and parameters",
		Example: "  keras summary model.keras\n  keras summary model.keras --json",
		Args:    exactly("MODEL"),
		RunE: func(c *cobra.Command, args []string) error {
			m, err := loadModel(args[0])
			if err != nil {
				return err
			}
			if !asJSON {
				return m.Summary(keras.SummaryOutput(c.OutOrStdout()))
			}
			text, err := json.MarshalIndent(summarize(m), "", "  ")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), string(text))
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object instead of the table")
	return c
}

// modelSummary is the output of `keras summary --json`.
type modelSummary struct {
	Name               string         `json:"name"`
	ClassName          string         `json:"class_name"`
	Inputs             []tensorInfo   `json:"inputs"`
	Outputs            []string       `json:"outputs"`
	Layers             []layerSummary `json:"layers"`
	TotalParams        int            `json:"total_params"`
	TrainableParams    int            `json:"trainable_params"`
	NonTrainableParams int            `json:"non_trainable_params"`
}

type tensorInfo struct {
	Name  string `json:"name"`
	Shape []*int `json:"shape"` // null where open, such as the batch
	DType string `json:"dtype"`
}

type layerSummary struct {
	Name      string `json:"name"`
	ClassName string `json:"class_name"`
	Params    int    `json:"params"`
	Trainable bool   `json:"trainable"`
}

func summarize(m *keras.Model) modelSummary {
	s := modelSummary{Name: m.Name(), ClassName: m.ClassName(), Inputs: []tensorInfo{}, Outputs: m.OutputNames(), Layers: []layerSummary{}}
	for _, in := range m.Inputs() {
		info := tensorInfo{Name: in.Name(), Shape: make([]*int, len(in.Shape())), DType: in.DType().String()}
		for i, n := range in.Shape() {
			if n != layers.Unknown {
				info.Shape[i] = &n
			}
		}
		s.Inputs = append(s.Inputs, info)
	}
	for _, l := range m.Layers() {
		s.Layers = append(s.Layers, layerSummary{
			Name: layers.Name(l), ClassName: layers.ClassName(l), Params: elements(layers.Weights(l)), Trainable: len(layers.TrainableWeights(l)) > 0,
		})
	}
	s.TotalParams, s.TrainableParams = m.CountParams(), elements(m.TrainableVariables())
	s.NonTrainableParams = s.TotalParams - s.TrainableParams
	return s
}

// elements counts the numbers in variables.
func elements(variables distribute.Variables) int {
	n := 0
	for _, v := range variables {
		n += v.Type().Shape.Size()
	}
	return n
}
