package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// text is the document of all rows.
func (s *results) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Every operation beside PyTorch and JAX\n\nWritten by `make bench-ops` (`internal/benchops`) on %s, %s.\n", time.Now().Format("2 January 2006"), machine())
	b.WriteString(`
The functions are those of the registry of ` + "`keras.ops`" + `, the layers (` + "`layers.Name`" + `) those of ` + "`keras.layers`" + `; those without a row, and why, are in
` + "`internal/benchops`" + `. One thread. The operands have 128 KB (L2), 2 MB (L3) or 64 MB (beyond). PyTorch computes Keras's function or layer eagerly, JAX compiled.
Times are the least processor time of several rounds, with the three processes measured in turn, so that what else the machine does changes them little.

A number is the time of the best of both by ours: **below 1 we are behind**. Gradients are those of the first result, weighed by random numbers, for all
floating-point operands and weights, with the forward pass as far as it is needed. What has no row at a size was not measured there since it changed.

`)
	rows := slices.Clone(s.list)
	slices.SortStableFunc(rows, func(a, c row) int {
		return cmp.Or(cmp.Compare(kind(a.Name), kind(c.Name)), cmp.Compare(a.Name, c.Name), cmp.Compare(sizeIndex(a.Size), sizeIndex(c.Size)))
	})
	drawn := rows
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.Size == drawnSize })
	others := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !r.isVariant() })
	rows = slices.DeleteFunc(rows, row.isVariant)
	b.WriteString(summaries(rows))
	writeRows(&b, rows)
	if len(others) > 0 {
		b.WriteString("\n## Layers in other configurations\n\nWhat `internal/benchops/variants.txt` lists: the class, the operands that it names, and the configuration.\n\n")
		b.WriteString(summaries(others))
		writeRows(&b, others)
	}
	b.WriteString(randomText(drawn))
	return b.String()
}

// isVariant reports whether a row is of a layer in another configuration.
func (r row) isVariant() bool {
	return strings.HasPrefix(r.Name, "layers.") && strings.Contains(r.Name, "{")
}

// writeRows writes a table with a line for each operation and size.
func writeRows(b *strings.Builder, rows []row) {
	b.WriteString("\n| operation | size | forward | gradient | forward, µs | gradient, µs |\n|---|---|---|---|---|---|\n")
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Name == rows[0].Name && rows[n].Size == rows[0].Size {
			n++
		}
		writeRow(b, rows[:n])
		rows = rows[n:]
	}
}

// kind orders functions before layers, and both before those of other element types.
func kind(name string) int {
	k := 0
	if strings.HasPrefix(name, "layers.") {
		k = 1
	}
	if strings.HasSuffix(name, ")") {
		k += 2
	}
	return k
}

func sizeIndex(name string) int {
	return slices.IndexFunc(sizes, func(s sizeClass) bool { return s.name == name })
}

// writeRow writes a line with the measurements of one operation at one size.
func writeRow(b *strings.Builder, rows []row) {
	var ratios, times [2]string
	for _, r := range rows {
		i := 0
		if r.Gradients {
			i = 1
		}
		times[i] = fmt.Sprintf("%.3g", r.Ours*1e6)
		if v, _, ok := r.ratio(); ok {
			if ratios[i] = fmt.Sprintf("%.2f", v); v < 1 {
				ratios[i] = "**" + ratios[i] + "**"
			}
		}
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", rows[0].Name, rows[0].Size, ratios[0], ratios[1], times[0], times[1])
}

// summaries describes the distribution of the ratios for each size, and names the operations that are furthest behind.
func summaries(rows []row) string {
	var b strings.Builder
	b.WriteString("| size | | rows | behind (below 1) | below 0.5 | a tenth below | median |\n|---|---|---|---|---|---|---|\n")
	for _, size := range sizes {
		for _, gradients := range []bool{false, true} {
			var ratios []float64
			for _, r := range rows {
				if v, _, ok := r.ratio(); ok && r.Size == size.name && r.Gradients == gradients {
					ratios = append(ratios, v)
				}
			}
			if len(ratios) == 0 {
				continue
			}
			slices.Sort(ratios)
			below := func(x float64) int { n, _ := slices.BinarySearch(ratios, x); return n }
			fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %.2f | %.2f |\n", size.name, row{Gradients: gradients}.what(), len(ratios), below(1), below(0.5),
				ratios[len(ratios)/10], ratios[len(ratios)/2])
		}
	}
	worst := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { v, _, ok := r.ratio(); return !ok || v >= 0.5 })
	slices.SortStableFunc(worst, byRatio)
	if len(worst) == 0 {
		return b.String()
	}
	b.WriteString("\nFurthest behind, below half of the best:")
	for i, r := range worst {
		v, best, _ := r.ratio()
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n`%s` %s %s %.2f of %s", r.Name, r.Size, r.what(), v, map[string]string{"torch": "PyTorch", "jax": "JAX"}[best])
	}
	b.WriteString(".\n")
	return b.String()
}

func byRatio(a, c row) int {
	x, _, _ := a.ratio()
	y, _, _ := c.ratio()
	return cmp.Compare(x, y)
}

// processor names the processor, and whether it has AVX-512.
func processor() string {
	name := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if key, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(v)
				if strings.Contains(string(text), "avx512f") {
					name += " with AVX-512"
				}
				break
			}
		}
	}
	return name
}

// machine describes the processor and its other load.
func machine() string {
	load := ""
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if first, _, ok := strings.Cut(string(text), " "); ok {
			load = fmt.Sprintf(", at a load of %s on %d processors", first, runtime.NumCPU())
		}
	}
	return processor() + load
}
