package main

import (
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/kernels/cpu"
)

func newProfile() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:     "profile MODEL",
		Short:   "Show where the time of a step goes",
		Long:    "Show where the time of a step goes: for each operation of the program its time, the memory it reads and writes, and its arithmetic\nagainst the peak of this machine. The data are made up.",
		Example: "  keras profile model.keras\n  keras profile model.keras --mode predict --batch-size 256",
		Args:    exactly("MODEL"),
		RunE: func(c *cobra.Command, args []string) error {
			m, err := f.prepare(args[0])
			if err != nil {
				return err
			}
			batch, err := newSynthetic(c.Context(), m, f.batchSize, f.mode == "train")
			if err != nil {
				return err
			}
			ctx := cpu.Measurable(c.Context())
			measurement, err := cpu.StartMeasurement(ctx)
			if err != nil {
				return err
			}
			defer measurement.Stop()
			begin, steps := time.Now(), 0
			for n := 1; time.Since(begin).Seconds() < f.seconds; n *= 2 {
				if err := f.steps(ctx, m, batch, n); err != nil {
					return err
				}
				steps += n
			}
			table := callbacks.NewProfileTable(measurement.Stop(), steps, cpu.MeasurePeak(200*time.Millisecond))
			if f.asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(table)
			}
			return table.Write(c.OutOrStdout())
		},
	}
	f.register(c)
	return c
}
