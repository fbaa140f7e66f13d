package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newEvaluate() *cobra.Command {
	var f modelFlags
	var asJSON bool
	c := &cobra.Command{
		Use:     "evaluate MODEL --x IN --y IN",
		Short:   "Compute a model's loss and metrics",
		Example: "  keras evaluate model.keras --x images.npy --y labels.npy\n  keras evaluate model.keras --x test.npz --y test.npz --json",
		Args:    exactly("MODEL"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := required(c, "x"); err != nil {
				return err
			}
			m, err := f.load(args[0])
			if err != nil {
				return err
			}
			source, err := f.source(m)
			if err != nil {
				return err
			}
			logs, err := m.EvaluateLogs(c.Context(), source, f.fitOptions()...)
			if err != nil {
				return err
			}
			var results object
			for _, name := range logs.Names() {
				results.add(name, number(logs.Vector(name)))
			}
			if asJSON {
				fmt.Fprintln(c.OutOrStdout(), results)
				return nil
			}
			for i, name := range results.names {
				fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", name, results.values[i])
			}
			return nil
		},
	}
	f.register(c.Flags(), true)
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, name to number")
	return c
}
