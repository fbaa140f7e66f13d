package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

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
			logs, err := m.EvaluateLogs(c.Context(), source, f.batchOption())
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
			width := 0
			for _, name := range logs.Names() {
				width = max(width, utf8.RuneCountInString(name))
			}
			for _, name := range logs.Names() {
				words := make([]string, 0, 1)
				for _, v := range logs.Vector(name) {
					words = append(words, fmt.Sprintf("%.4g", v))
				}
				fmt.Fprintf(c.OutOrStdout(), "%-*s  %s\n", width, name, strings.Join(words, " "))
			}
			return nil
		},
	}
	f.register(c.Flags(), true)
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, name to number, with all digits")
	return c
}
