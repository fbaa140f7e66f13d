package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/kernels"
)

func newDevices() *cobra.Command {
	var asJSON, links bool
	c := &cobra.Command{
		Use:     "devices",
		Short:   "List the devices that models can run on, and the plugins that drive them",
		Example: "  keras devices\n  keras devices --json\n  keras devices --topology",
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if links {
				return printTopology(c.OutOrStdout())
			}
			names := []string{}
			for _, d := range kernels.Devices() {
				names = append(names, d.String())
			}
			var found []plugin
			if plugins != nil {
				found = plugins()
			}
			var cards []string
			noCards := ""
			if gpus != nil {
				var err error
				if cards, err = gpus(); err != nil {
					noCards = oneLine(err.Error())
				}
			}
			if !asJSON {
				for _, name := range names {
					fmt.Fprintln(c.OutOrStdout(), name)
				}
				for _, card := range cards {
					fmt.Fprintln(c.OutOrStdout(), card)
				}
				if noCards != "" {
					fmt.Fprintf(c.OutOrStdout(), "no device of kind cuda: %s\n", noCards)
				}
				if len(cards) > 0 && nvidiaLibraries != nil {
					for _, line := range nvidiaLibraries() {
						fmt.Fprintln(c.OutOrStdout(), line)
					}
				}
				printPlugins(c.OutOrStdout(), found)
				return nil
			}
			out := map[string]any{"devices": names}
			if plugins != nil {
				out["plugins"] = found
			}
			if gpus != nil {
				out["gpus"] = map[string]any{"found": cards, "problem": noCards}
				if nvidiaLibraries != nil {
					out["libraries"] = nvidiaLibraries()
				}
			}
			return json.NewEncoder(c.OutOrStdout()).Encode(out)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	c.Flags().BoolVar(&links, "topology", false, "show which GPUs reach each other's memory, and how replicas on them meet")
	c.MarkFlagsMutuallyExclusive("json", "topology")
	return c
}

// printPlugins writes a line for each plugin, with the reason if it cannot be used, and the memories of its devices.
func printPlugins(w io.Writer, found []plugin) {
	for _, p := range found {
		if p.Problem != "" {
			fmt.Fprintf(w, "no plugin for %s: %s\n", p.Kind, p.Problem)
			continue
		}
		fmt.Fprintf(w, "plugin for %s: %s, platform %s, interface %s\n", p.Kind, p.Path, p.Platform, p.Version)
		printMemories(w, p)
	}
}

// printMemories writes a line for each device of a plugin, with the memories that it can access.
func printMemories(w io.Writer, p plugin) {
	devices := slices.Collect(maps.Keys(p.Memories))
	sort.Slice(devices, func(i, j int) bool { // xla:2 before xla:10
		return len(devices[i]) < len(devices[j]) || len(devices[i]) == len(devices[j]) && devices[i] < devices[j]
	})
	for _, device := range devices {
		var words []string
		for _, m := range p.Memories[device] {
			word := fmt.Sprintf("%s (%d", m.Kind, m.ID)
			if m.Default {
				word += ", default"
			}
			words = append(words, word+")")
		}
		fmt.Fprintf(w, "  memories of %s: %s\n", device, strings.Join(words, ", "))
	}
}

// printTopology shows how the GPUs are connected.
func printTopology(w io.Writer) error {
	if topology == nil {
		return errors.New("devices: this program was built without GPUs; build it with go build -tags cuda ./cmd/keras")
	}
	text, err := topology()
	if err != nil {
		return fmt.Errorf("devices: %w", err)
	}
	_, err = io.WriteString(w, text)
	return err
}
