package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/kernels/cpu"
)

// operation is a row of the profile: what one operation of the program took in a step.
type operation struct {
	Name          string  `json:"name"`
	Layer         string  `json:"layer"`
	Calls         float64 `json:"calls"` // in a step
	Microseconds  float64 `json:"microseconds"`
	Percent       float64 `json:"percent"` // of the step
	Megabytes     float64 `json:"megabytes"`
	GFLOPs        float64 `json:"gflops"` // per second
	PercentOfPeak float64 `json:"percent_of_peak"`
}

func newProfile() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:     "profile MODEL",
		Short:   "Show where the time of a step goes",
		Long:    "Show where the time of a step goes: for each operation of the program its time, the memory it reads and writes, and its arithmetic\nagainst the peak of this machine. The data are made up.",
		Example: "  keras profile model.keras\n  keras profile model.keras --mode predict --batch-size 256",
		Args:    exactly("MODEL"),
		RunE: func(c *cobra.Command, args []string) error {
			cpu.SetProfiling(true)
			defer cpu.SetProfiling(false)
			m, err := f.prepare(args[0])
			if err != nil {
				return err
			}
			batch, err := newSynthetic(c.Context(), m, f.batchSize, f.mode == "train")
			if err != nil {
				return err
			}
			before := len(cpu.Profiles())
			begin, steps := time.Now(), 0
			for n := 1; time.Since(begin).Seconds() < f.seconds; n *= 2 {
				if err := f.steps(c.Context(), m, batch, n); err != nil {
					return err
				}
				steps += n
			}
			profiles := cpu.Profiles()
			if len(profiles) > before {
				profiles = profiles[before:] // without what made the targets
			}
			table := operations(profiles, float64(steps), cpu.MeasurePeak(200*time.Millisecond))
			if f.asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(table)
			}
			return printOperations(c.OutOrStdout(), table)
		},
	}
	f.register(c)
	return c
}

// operations joins the profiles of all programs, the longest operations first.
func operations(profiles []cpu.ProgramProfile, steps, peak float64) []operation {
	table := []operation{}
	total := 0.0
	for _, p := range profiles {
		for _, op := range p.Ops {
			seconds, calls := op.Time.Seconds(), float64(op.Calls)
			if calls == 0 {
				continue
			}
			row := operation{Name: op.Name, Layer: op.Scope, Calls: calls / steps, Microseconds: 1e6 * seconds / steps,
				Megabytes: float64(op.Bytes) * calls / steps / 1e6, Percent: seconds}
			if seconds > 0 {
				row.GFLOPs = float64(op.FLOPs) * calls / seconds / 1e9
				row.PercentOfPeak = 100 * row.GFLOPs * 1e9 / peak
			}
			total += seconds
			table = append(table, row)
		}
	}
	for i := range table {
		table[i].Percent *= 100 / total
	}
	slices.SortStableFunc(table, func(a, b operation) int {
		switch {
		case a.Percent > b.Percent:
			return -1
		case a.Percent < b.Percent:
			return 1
		}
		return 0
	})
	return table
}

func printOperations(w io.Writer, table []operation) error {
	t := tablewriter.NewTable(w, tablewriter.WithHeaderAutoFormat(tw.Off))
	t.Header("operation", "layer", "calls", "µs", "%", "MB", "GFLOP/s", "% of peak")
	for _, r := range table {
		gflops, peak := "", ""
		if r.GFLOPs > 0 {
			gflops, peak = fmt.Sprintf("%.1f", r.GFLOPs), fmt.Sprintf("%.0f", r.PercentOfPeak)
		}
		if err := t.Append(r.Name, r.Layer, fmt.Sprintf("%.4g", r.Calls), fmt.Sprintf("%.1f", r.Microseconds), fmt.Sprintf("%.1f", r.Percent),
			fmt.Sprintf("%.2f", r.Megabytes), gflops, peak); err != nil {
			return err
		}
	}
	return t.Render()
}
