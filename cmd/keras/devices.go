package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/kernels"
)

func newDevices() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "devices",
		Short:   "List the devices that models can run on",
		Example: "  keras devices\n  keras devices --json",
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			names := []string{}
			for _, d := range kernels.Devices() {
				names = append(names, d.String())
			}
			if !asJSON {
				for _, name := range names {
					fmt.Fprintln(c.OutOrStdout(), name)
				}
				return nil
			}
			return json.NewEncoder(c.OutOrStdout()).Encode(map[string]any{"devices": names})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
