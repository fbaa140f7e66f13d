package callbacks

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// String returns the record as a table: a line for each epoch, counted from 1 as in the progress bar, and a column for each name, in the order in which
// the progress bar shows them. What an epoch did not measure is left empty.
func (h *History) String() string {
	if h == nil || len(h.Epoch) == 0 {
		return "no epochs"
	}
	names := h.columns()
	var b strings.Builder
	config := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{PerColumn: slices.Repeat([]tw.Align{tw.AlignRight}, len(names)+1)},
		Padding:    tw.CellPadding{Global: tw.Padding{Left: " ", Right: " "}},
	}
	t := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.Border{Left: tw.Off, Right: tw.Off, Top: tw.Off, Bottom: tw.Off},
			Symbols:  tw.NewSymbols(tw.StyleLight),
			Settings: tw.Settings{Separators: tw.Separators{BetweenRows: tw.Off, BetweenColumns: tw.Off}},
		})),
		tablewriter.WithHeaderConfig(config), tablewriter.WithRowConfig(config))
	t.Header(append([]string{"epoch"}, names...))
	for row, epoch := range h.Epoch {
		cells := []string{strconv.Itoa(epoch + 1)}
		for _, name := range names {
			cells = append(cells, h.cell(name, row))
		}
		if err := t.Append(cells); err != nil {
			return err.Error()
		}
	}
	if err := t.Render(); err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// columns lists the names in the order of the logs; names that the longest logs did not have come last.
func (h *History) columns() []string {
	names := slices.DeleteFunc(slices.Clone(h.order), func(name string) bool { return h.Logs[name] == nil })
	for _, name := range h.Names() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// cell returns the value that a name has in a row, "" where it has none.
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
