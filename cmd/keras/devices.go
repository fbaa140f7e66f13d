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
		Short:   "List the devices that models can run on, and the plugins that drive them",
		Example: "  keras devices\n  keras devices --json",
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			names := []string{}
			for _, d := range kernels.Devices() {
				names = append(names, d.String())
			}
			var found []plugin
			if plugins != nil {
				found = plugins()
			}
			if !asJSON {
				for _, name := range names {
					fmt.Fprintln(c.OutOrStdout(), name)
				}
				for _, p := range found {
					if p.Problem != "" {
						fmt.Fprintf(c.OutOrStdout(), "no plugin for %s: %s\n", p.Kind, p.Problem)
						continue
					}
					fmt.Fprintf(c.OutOrStdout(), "plugin for %s: %s, platform %s, interface %s\n", p.Kind, p.Path, p.Platform, p.Version)
				}
				return nil
			}
			out := map[string]any{"devices": names}
			if plugins != nil {
				out["plugins"] = found
			}
			return json.NewEncoder(c.OutOrStdout()).Encode(out)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
