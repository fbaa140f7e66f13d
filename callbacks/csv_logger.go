package callbacks

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CSVLogger writes the values of each epoch to a file: a header with "epoch" and the names in alphabetical order, and one line an
// epoch, which is on disk when the next epoch begins. Epochs count from 0. Lines end in "\r\n".
//
// The columns are those of the first epoch of the run. Where it has no validation values, a column with "val_" is added for each
// of its names. A value that is missing is "NA"; a metric with several numbers is a list.
type CSVLogger struct {
	Base
	// Filename is the file; its folder must exist.
	Filename string `keras:"filename"`
	// Separator stands between columns; "" is a comma. It must be one character.
	Separator string `keras:"separator,default=\",\""`
	// Append adds to a file that is there instead of writing it anew; a file with content gets no second header.
	Append bool `keras:"append"`

	file   *os.File
	keys   []string
	header bool
}

// OnTrainBegin opens the file.
func (c *CSVLogger) OnTrainBegin() error {
	separator := c.separator()
	if utf8.RuneCountInString(separator) != 1 || strings.ContainsAny(separator, "\"\r\n") {
		return fmt.Errorf("callbacks: CSVLogger: Separator is %q; expected one character that is no quotation mark and no end of line", c.Separator)
	}
	if c.file != nil {
		if err := c.file.Close(); err != nil {
			return fmt.Errorf("callbacks: CSVLogger: %w", err)
		}
	}
	how := os.O_TRUNC
	if c.Append {
		how = os.O_APPEND
	}
	f, err := os.OpenFile(c.Filename, os.O_WRONLY|os.O_CREATE|how, 0o666)
	if err != nil {
		c.file = nil
		return fmt.Errorf("callbacks: CSVLogger: %w; Filename must name a file in a folder that exists", err)
	}
	c.file, c.keys, c.header = f, nil, true
	if c.Append {
		size, err := f.Seek(0, io.SeekEnd)
		if err != nil {
			return fmt.Errorf("callbacks: CSVLogger: %w", err)
		}
		c.header = size == 0
	}
	return nil
}

func (c *CSVLogger) separator() string {
	if c.Separator == "" {
		return ","
	}
	return c.Separator
}

// OnEpochEnd writes a line.
func (c *CSVLogger) OnEpochEnd(epoch int, logs *Logs) error {
	if c.file == nil {
		return errors.New("callbacks: CSVLogger: OnEpochEnd was called without OnTrainBegin")
	}
	first := c.keys == nil
	if first {
		c.keys = columns(logs)
	}
	if err := logs.Err(); err != nil {
		return err
	}
	var text strings.Builder
	if first && c.header {
		c.line(&text, append([]string{"epoch"}, c.keys...))
	}
	row := []string{strconv.Itoa(epoch)}
	for _, key := range c.keys {
		switch v := logs.Vector(key); len(v) {
		case 0:
			row = append(row, "NA")
		case 1:
			row = append(row, repr(v[0]))
		default:
			row = append(row, `"`+vectorText(v)+`"`) // Keras puts quotation marks into the value, which are then quoted
		}
	}
	c.line(&text, row)
	if _, err := c.file.WriteString(text.String()); err != nil {
		return fmt.Errorf("callbacks: CSVLogger: %w", err)
	}
	return nil
}

// vectorText lists the numbers of a metric as they are: single precision numbers with the digits these need.
func vectorText(values []float64) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = repr(v)
		if single := float32(v); float64(single) == v {
			parts[i] = layOut(split(v, strconv.FormatFloat(max(v, -v), 'e', -1, 32)), 'r', 0, false)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// columns are the names of the logs, with those of validation also where it comes later.
func columns(logs *Logs) []string {
	keys := slices.Sorted(slices.Values(logs.Names()))
	if slices.ContainsFunc(keys, func(k string) bool { return strings.HasPrefix(k, "val_") }) {
		return keys
	}
	for _, k := range slices.Clone(keys) {
		keys = append(keys, "val_"+k)
	}
	return append([]string{}, keys...)
}

// line adds a line, with quotation marks where a value needs them.
func (c *CSVLogger) line(b *strings.Builder, values []string) {
	separator := c.separator()
	for i, v := range values {
		if i > 0 {
			b.WriteString(separator)
		}
		if strings.ContainsAny(v, "\"\r\n"+separator) {
			v = `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
		}
		b.WriteString(v)
	}
	b.WriteString("\r\n")
}

// OnTrainEnd closes the file.
func (c *CSVLogger) OnTrainEnd(*Logs) error {
	if c.file == nil {
		return nil
	}
	err := c.file.Close()
	c.file = nil
	if err != nil {
		return fmt.Errorf("callbacks: CSVLogger: %w", err)
	}
	return nil
}

// WantsBatches reports that CSVLogger looks at epochs only.
func (c *CSVLogger) WantsBatches() bool { return false }
