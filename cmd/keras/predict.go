package main

import (
	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/keras"
)

func newPredict() *cobra.Command {
	var f modelFlags
	var output string
	c := &cobra.Command{
		Use:   "predict MODEL --x IN --output OUT",
		Short: "Compute a model's outputs",
		Long: "Compute a model's outputs for the examples in IN, and write them to OUT: one output as .npy, several as .npz with the names\n" +
			"of the outputs; outputs of one number or a row of numbers an example also as .csv, a line an example.",
		Example: "  keras predict model.keras --x images.npy --output scores.npy\n  keras predict model.keras --x data.npz:images --output scores.npy --batch-size 256",
		Args:    exactly("MODEL"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := required(c, "x", "output"); err != nil {
				return err
			}
			if err := checkOutput(output); err != nil {
				return err
			}
			m, err := f.load(args[0], keras.WithoutCompile())
			if err != nil {
				return err
			}
			source, err := f.source(m)
			if err != nil {
				return err
			}
			results, err := m.PredictAll(c.Context(), source, f.batchOption())
			if err != nil {
				return err
			}
			return writeArrays(output, m.OutputNames(), results)
		},
	}
	f.register(c.Flags(), false)
	c.Flags().StringVar(&output, "output", "", "file for the results: .npy, .npz or .csv")
	return c
}
