package callbacks

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// String returns the record as a table: a line for each epoch, counted from 1 as in the progress bar, and a column for
// each name, in the order in which the progress bar shows them. Values that an epoch did not measure are left empty.
func (h *History) String() string {
	if h == nil || len(h.Epoch) == 0 {
		return "no epochs"
	}
	names := h.columns()
	table := [][]string{append([]string{"epoch"}, names...)}
	for row, epoch := range h.Epoch {
		cells := []string{strconv.Itoa(epoch + 1)}
		for _, name := range names {
			cells = append(cells, h.cell(name, row))
		}
		table = append(table, cells)
	}
	return aligned(table)
}

// aligned arranges cells in right-aligned columns, with a line below the first row.
func aligned(table [][]string) string {
	widths, total := make([]int, len(table[0])), 0
	for i := range widths {
		for _, row := range table {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		total += widths[i] + 2
	}
	var lines []string
	for r, row := range table {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+1) + cell + " ")
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
		if r == 0 {
			lines = append(lines, strings.Repeat("─", total))
		}
	}
	return strings.Join(lines, "\n")
}

// columns lists the names in the order of the logs; names that the longest logs lack come last.
func (h *History) columns() []string {
	names := slices.DeleteFunc(slices.Clone(h.order), func(name string) bool { return h.Logs[name] == nil })
	for _, name := range h.Names() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// cell returns the value of a name in a row, or "" if it has none.
func (h *History) cell(name string, row int) string {
	values, at := h.Logs[name], row
	if rows := h.rows[name]; len(rows) == len(values) {
		at = slices.Index(rows, row)
	}
	if at < 0 || at >= len(values) {
		return ""
	}
	list := values[at : at+1]
	if vectors := h.Vectors[name]; len(vectors) == len(values) {
		list = vectors[at]
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = fmt.Sprintf("%.4f", v)
		if math.Abs(v) <= 1e-3 && v != 0 {
			texts[i] = fmt.Sprintf("%.4e", v)
		}
	}
	return strings.Join(texts, " ")
}
