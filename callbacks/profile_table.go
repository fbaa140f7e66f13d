package callbacks

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/gokeras/gokeras/kernels/cpu"
)

// ProfileRow says what one operation took in a step.
type ProfileRow struct {
	Name          string  `json:"name"`  // the fused operations, joined by "+"
	Layer         string  `json:"layer"` // of the last of them
	Calls         float64 `json:"calls"` // in a step
	Microseconds  float64 `json:"microseconds"`
	Percent       float64 `json:"percent"`         // of the step
	Megabytes     float64 `json:"megabytes"`       // 10⁶ bytes read and written, caches included
	GFLOPs        float64 `json:"gflops"`          // 10⁹ multiplications and additions of products a second
	PercentOfPeak float64 `json:"percent_of_peak"` // that of this machine, which is measured
	// PercentOfMemory is the bytes per second relative to the memory bandwidth of the GPU; 0 on CPUs.
	PercentOfMemory float64 `json:"percent_of_memory,omitempty"`
}

// ProfileTable lists the operations of a step, the one that takes the most time first.
type ProfileTable []ProfileRow

// NewProfileTable makes the table of a number of steps; peak is the number of floating-point operations per second that
// counts as 100 % for operations that do not state their own peak; see [cpu.MeasurePeak]. Rows of programs with the
// same name, which replicas run, are added up.
func NewProfileTable(profiles []cpu.ProgramProfile, steps int, peak float64) ProfileTable {
	sums, total := joined(profiles), time.Duration(0)
	for _, op := range sums {
		total += op.Time
	}
	table := ProfileTable{}
	n := float64(steps)
	for _, op := range sums {
		row := ProfileRow{Name: op.Name, Layer: op.Scope, Calls: float64(op.Calls) / n, Microseconds: 1e6 * op.Time.Seconds() / n,
			Percent: 100 * float64(op.Time) / float64(max(total, 1)), Megabytes: float64(op.Bytes) / n / 1e6}
		if op.Time > 0 {
			row.GFLOPs = float64(op.FLOPs) / op.Time.Seconds() / 1e9
			limit := peak
			if op.Peak > 0 {
				limit = op.Peak
			}
			row.PercentOfPeak = 100 * row.GFLOPs * 1e9 / limit
			if op.Bandwidth > 0 {
				row.PercentOfMemory = 100 * float64(op.Bytes) / op.Time.Seconds() / op.Bandwidth
			}
		}
		table = append(table, row)
	}
	sort.SliceStable(table, func(i, j int) bool { return table[i].Percent > table[j].Percent })
	return table
}

// joined lists the operations of all programs, with the bytes and the arithmetic of all calls. If several programs have
// the same name, their operations with the same name and layer become one.
func joined(profiles []cpu.ProgramProfile) []cpu.OpProfile {
	programs := map[string]int{}
	for _, p := range profiles {
		programs[p.Program]++
	}
	type key struct{ program, name, scope string }
	at := map[key]int{}
	var all []cpu.OpProfile
	for _, p := range profiles {
		for _, op := range p.Ops {
			if op.Calls == 0 {
				continue
			}
			op.Bytes, op.FLOPs = op.Bytes*int64(op.Calls), op.FLOPs*int64(op.Calls)
			k := key{p.Program, op.Name, op.Scope}
			i, known := at[k]
			if programs[p.Program] == 1 || !known {
				at[k] = len(all)
				all = append(all, op)
				continue
			}
			sum := &all[i]
			sum.Calls, sum.Time, sum.Bytes, sum.FLOPs = sum.Calls+op.Calls, sum.Time+op.Time, sum.Bytes+op.Bytes, sum.FLOPs+op.FLOPs
		}
	}
	return all
}

// Write prints the table. Long chains of operations are shortened.
func (t ProfileTable) Write(w io.Writer) error {
	if w == nil {
		return errors.New("callbacks: ProfileTable.Write: the writer is nil")
	}
	const form = "%-*s %-*s %9s %5s %8s %7s %5s%s\n"
	onGPU := slices.ContainsFunc(t, func(r ProfileRow) bool { return r.PercentOfMemory > 0 })
	last := func(text string) string { // with another column for GPUs
		if onGPU {
			return text
		}
		return ""
	}
	if _, err := fmt.Fprintf(w, form, nameWidth, "operation", layerWidth, "layer", "µs", "%", "MB", "GFLOP/s", "%peak", last("  %mem")); err != nil {
		return err
	}
	for _, r := range t {
		gflops, peak := "", ""
		if r.GFLOPs > 0 {
			gflops, peak = fmt.Sprintf("%.1f", r.GFLOPs), fmt.Sprintf("%.0f", r.PercentOfPeak)
		}
		name := shortened(r.Name)
		if r.Calls != 1 {
			name = fmt.Sprintf("%.4g× %s", r.Calls, name)
		}
		if _, err := fmt.Fprintf(w, form, nameWidth, clipped(name, nameWidth, false), layerWidth, clipped(r.Layer, layerWidth, true), fmt.Sprintf("%.1f", r.Microseconds),
			fmt.Sprintf("%.1f", r.Percent), fmt.Sprintf("%.2f", r.Megabytes), gflops, peak, last(fmt.Sprintf("%6.0f", r.PercentOfMemory))); err != nil {
			return err
		}
	}
	return nil
}

// clipped cuts a text to a width: at its end, or at its beginning if the end says more.
func clipped(text string, width int, keepEnd bool) string {
	r := []rune(text)
	switch {
	case len(r) <= width:
		return text
	case keepEnd:
		return "…" + string(r[len(r)-width+1:])
	}
	return string(r[:width-1]) + "…"
}

// layerWidth is the number of characters that the table shows of a layer's path: its end. All columns together take 80
// characters.
const layerWidth = 20

// nameWidth is the number of characters that the table shows of a long chain's name.
const nameWidth = 20

// shortened returns the name of a chain of operations, a+b+b+c, with repeated operations counted, and shortened at the
// end if it is long.
func shortened(chain string) string {
	var short []string
	parts := strings.Split(chain, "+")
	width := 0
	for i := 0; i < len(parts); {
		n := i + 1
		for n < len(parts) && parts[n] == parts[i] {
			n++
		}
		part := parts[i]
		if n-i > 1 {
			part = fmt.Sprintf("%s×%d", part, n-i)
		}
		if width += len(part) + 1; width > nameWidth && i > 0 {
			return fmt.Sprintf("%s+%d more", strings.Join(short, "+"), len(parts)-i)
		}
		short = append(short, part)
		i = n
	}
	return strings.Join(short, "+")
}
