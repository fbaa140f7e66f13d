package keras

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/layers"
)

// SummaryOption is an option of Summary.
type SummaryOption interface{ applySummary(*summaryConfig) }

type summaryConfig struct {
	w              io.Writer
	width          int
	expand, frozen bool
}

type summaryOption func(*summaryConfig)

func (f summaryOption) applySummary(c *summaryConfig) { f(c) }

// SummaryOutput sets where the summary is printed; the default is standard output.
func SummaryOutput(w io.Writer) SummaryOption {
	return summaryOption(func(c *summaryConfig) { c.w = w })
}

// LineLength sets the width of the table; the default is 76, the width that Keras prints on an 80-column terminal.
func LineLength(n int) SummaryOption { return summaryOption(func(c *summaryConfig) { c.width = n }) }

// ExpandNested also lists the layers of nested models.
func ExpandNested() SummaryOption { return summaryOption(func(c *summaryConfig) { c.expand = true }) }

// ShowTrainable adds a column that shows which layers are trained.
func ShowTrainable() SummaryOption { return summaryOption(func(c *summaryConfig) { c.frozen = true }) }

// Summary prints the model's layers, the shapes of their results and the number of their parameters, as Keras does.
func (m *Model) Summary(options ...SummaryOption) error {
	c := summaryConfig{w: os.Stdout, width: 76}
	for _, o := range options {
		if o != nil {
			o.applySummary(&c)
		}
	}
	s := &summary{m: m, c: c, header: []string{"Layer (type)", "Output Shape", "Param #"}, positions: []float64{0.45, 0.80, 1}}
	s.align = []tw.Align{tw.AlignLeft, tw.AlignLeft, tw.AlignRight}
	f, ok := m.topology.(*functional)
	if ok && !f.isStack() {
		s.connected = f
		s.header = append(s.header, "Connected to")
		s.align = append(s.align, tw.AlignLeft)
		s.positions = []float64{0.3, 0.56, 0.74, 1}
	}
	if c.frozen {
		for i := range s.positions {
			s.positions[i] *= 0.9
		}
		s.positions = append(s.positions, 1)
		s.header, s.align = append(s.header, "Trainable"), append(s.align, tw.AlignCenter)
	}
	return s.print()
}

type summary struct {
	m         *Model
	c         summaryConfig
	connected *functional
	header    []string
	align     []tw.Align
	positions []float64
	rows      [][]string
}

func (s *summary) print() error {
	widths, err := s.widths()
	if err != nil {
		return err
	}
	s.collect()
	var b bytes.Buffer
	fmt.Fprintf(&b, "Model: %q\n", s.m.Name())
	table, err := s.table(widths)
	if err != nil {
		return err
	}
	b.WriteString(table)
	s.totals(&b)
	_, err = s.c.w.Write(b.Bytes())
	return err
}

// widths returns the width of each column, including a space on both sides. Like Keras, it first chooses columns that
// add up to the line, and then subtracts the space for padding and rules from all columns alike.
func (s *summary) widths() ([]int, error) {
	widths := make([]int, len(s.positions))
	at, total := 0, len(widths)+1
	for i, p := range s.positions {
		w := int(p*float64(s.c.width)) - at
		at += w
		widths[i] = w + 2
		total += widths[i]
	}
	for i, excess := 0, total-s.c.width; i < len(widths); i++ {
		cut := int(math.RoundToEven(float64(excess) / float64(len(widths)-i)))
		widths[i] -= cut
		excess -= cut
		if widths[i] < 3 {
			return nil, fmt.Errorf("keras: Summary: a line length of %d leaves column %q only %d characters; use 60 or more", s.c.width, s.header[i], widths[i])
		}
	}
	return widths, nil
}

func (s *summary) collect() {
	if f, ok := s.m.topology.(*functional); ok {
		for _, e := range f.order {
			if e.layer != nil {
				s.add(e.layer, 0)
			} else {
				s.addInput(e.input)
			}
		}
		return
	}
	for _, l := range s.m.Layers() {
		s.add(l, 0)
	}
}

func (s *summary) addInput(t *layers.KerasTensor) {
	row := []string{t.Name() + " (InputLayer)", layers.ShapeString(t.Shape()), "0"}
	if s.connected != nil {
		row = append(row, "-")
	}
	if s.c.frozen {
		row = append(row, "-")
	}
	s.rows = append(s.rows, row)
}

func (s *summary) add(l layers.Layer, depth int) {
	name := layers.Name(l)
	if depth > 0 {
		name = strings.Repeat("   ", depth) + "└ " + name
	}
	weights := layers.Weights(l)
	row := []string{name + " (" + layers.ClassName(l) + ")", "?", "0 (unbuilt)"}
	if types := layers.OutputTypes(l); types != nil {
		row[1], row[2] = typesString(types), thousands(weights.Count())
	}
	if s.connected != nil {
		row = append(row, s.connected.connections(l))
	}
	if s.c.frozen {
		trained := "-"
		if len(weights) > 0 {
			trained = "N"
			if len(layers.TrainableWeights(l)) > 0 {
				trained = "Y"
			}
		}
		row = append(row, trained)
	}
	s.rows = append(s.rows, row)
	if inner, ok := l.(layers.Container); ok && s.c.expand {
		for _, l := range inner.Layers() {
			s.add(l, depth+1)
		}
	}
}

// table renders the rows with heavy rules around the header and light ones below, as Keras draws them.
func (s *summary) table(widths []int) (string, error) {
	var b bytes.Buffer
	perColumn := tw.NewMapper[int, int]()
	for i, w := range widths {
		perColumn.Set(i, w)
	}
	config := tw.CellConfig{
		Formatting:   tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:    tw.CellAlignment{PerColumn: s.align},
		Padding:      tw.CellPadding{Global: tw.Padding{Left: " ", Right: " "}},
		ColMaxWidths: tw.CellWidth{PerColumn: perColumn},
	}
	twwidth.SetEastAsian(false) // rules and "…" take one column, as in Keras, in every language
	t := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Symbols:  tw.NewSymbols(tw.StyleLight),
			Settings: tw.Settings{Separators: tw.Separators{BetweenRows: tw.On, BetweenColumns: tw.On}},
		})),
		tablewriter.WithHeaderConfig(config), tablewriter.WithRowConfig(config),
		tablewriter.WithTrimSpace(tw.Off))
	t.Header(padded(s.header, widths, s.align))
	for _, row := range s.rows {
		if err := t.Append(padded(row, widths, s.align)); err != nil {
			return "", err
		}
	}
	if err := t.Render(); err != nil {
		return "", err
	}
	return heavyHeader(b.String()), nil
}

// padded wraps the cells of a row to the columns' widths, which include a space on both sides.
func padded(row []string, widths []int, align []tw.Align) []string {
	out := make([]string, len(row))
	for i, cell := range row {
		inner := widths[i] - 2
		lines := wrap(cell, inner)
		for j, line := range lines {
			space := strings.Repeat(" ", inner-twwidth.Width(line))
			switch align[i] {
			case tw.AlignRight:
				lines[j] = space + line
			case tw.AlignCenter:
				lines[j] = space[:len(space)/2] + line + space[len(space)/2:]
			default:
				lines[j] = line + space
			}
		}
		out[i] = strings.Join(lines, "\n")
	}
	return out
}

// wrap breaks text at spaces into lines of at most width terminal columns; East Asian letters take two. A word that is
// too long is cut with "…".
func wrap(text string, width int) []string {
	lead := len(text) - len(strings.TrimLeft(text, " "))
	var lines []string
	line := text[:lead]
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && twwidth.Width(line)+1+twwidth.Width(word) > width {
			lines = append(lines, line)
			line, empty = "", true
		}
		if !empty {
			line += " "
		}
		line = cut(line+word, width)
		empty = false
	}
	return append(lines, line)
}

// cut shortens a line to width columns.
func cut(line string, width int) string {
	if twwidth.Width(line) <= width {
		return line
	}
	kept := ""
	for _, r := range line {
		if twwidth.WidthNoCache(kept+string(r)) > width-1 {
			break
		}
		kept += string(r)
	}
	return kept + strings.Repeat(" ", width-1-twwidth.Width(kept)) + "…"
}

// heavyHeader redraws a light table with heavy rules around its header.
func heavyHeader(table string) string {
	lines := strings.Split(table, "\n")
	end := 0
	for i, line := range lines {
		if strings.HasPrefix(line, "├") {
			end = i
			break
		}
		if strings.HasPrefix(line, "└") { // a table without rows
			lines = slices.Insert(lines, i, strings.NewReplacer("└", "├", "┴", "┼", "┘", "┤").Replace(line))
			end = i
			break
		}
	}
	heavy := strings.NewReplacer("┌", "┏", "─", "━", "┬", "┳", "┐", "┓", "│", "┃")
	for i := range end {
		lines[i] = heavy.Replace(lines[i])
	}
	lines[end] = strings.NewReplacer("├", "┡", "─", "━", "┼", "╇", "┤", "┩").Replace(lines[end])
	return strings.Join(lines, "\n")
}

func (s *summary) totals(w io.Writer) {
	trained, other := s.m.TrainableVariables(), s.m.NonTrainableVariables()
	var optimizer distribute.Variables
	if c := s.m.compiled; c != nil && c.trainable != nil {
		optimizer = c.optimizer.Variables()
	}
	line := func(what string, vars ...distribute.Variables) {
		count, size := 0, 0
		for _, vs := range vars {
			for _, v := range vs {
				count += v.Size()
				size += v.Type().Bytes()
			}
		}
		fmt.Fprintf(w, " %s params: %s (%s)\n", what, thousands(count), memorySize(size))
	}
	line("Total", trained, other, optimizer)
	line("Trainable", trained)
	line("Non-trainable", other)
	if optimizer != nil {
		line("Optimizer", optimizer)
	}
}

func memorySize(bytes int) string {
	size := float64(bytes)
	for _, unit := range []string{"B", "KB", "MB", "GB", "TB"} {
		if size < 1024 {
			return fmt.Sprintf("%.2f %s", size, unit)
		}
		size /= 1024
	}
	return fmt.Sprintf("%.2f PB", size)
}

func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
