package callbacks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CSVLogger writes the values of each epoch to a file: a header with "epoch" and the names in alphabetical order, and
// one line per epoch, which is written to disk before the next epoch begins. Epochs count from 0. Lines end in "\r\n".
//
// The columns are those of the first epoch of the run. If that epoch has no validation values, a "val_" column is added
// for each of its names. A value that is missing is "NA"; a metric with several numbers is a list.
//
// With several workers only the chief has the file open. If the chief is lost and the job continues, the next one adds
// the missing lines. A run that resumes from a backup keeps the lines of earlier epochs, with or without Append, and
// drops those of epochs that it repeats.
type CSVLogger struct {
	Base
	// Filename is the file; its folder must exist.
	Filename string `keras:"filename"`
	// Separator separates the columns; "" is a comma. It must be one character.
	Separator string `keras:"separator,default=\",\""`
	// Append adds to an existing file instead of overwriting it. If the file is not empty, it gets no second header.
	Append bool `keras:"append"`

	begun  bool
	start  int64    // where the lines of this run begin in the file
	fresh  bool     // the file is to be overwritten, and has not been yet
	file   *os.File // nil: another process writes
	keys   []string
	header bool
	recent []csvLine // the last lines, whoever wrote them
	check  bool      // another process wrote before this one: some of them may be missing
}

// csvLine holds the line of an epoch.
type csvLine struct {
	Epoch int
	Text  string
}

// maxRecent is the number of lines that are kept in case this process becomes the chief. Workers are at most one epoch
// apart.
const maxRecent = 4

// OnTrainBegin opens the file.
func (c *CSVLogger) OnTrainBegin() error {
	separator := c.separator()
	if utf8.RuneCountInString(separator) != 1 || strings.ContainsAny(separator, "\"\r\n") {
		return fmt.Errorf("callbacks: CSVLogger: Separator is %q; expected one character that is no quotation mark and no end of line", c.Separator)
	}
	if err := c.OnTrainEnd(nil); err != nil { // of a run before
		return err
	}
	c.fresh, c.start = !c.Append && !joinsRunningJob(c.Model()), 0
	c.keys, c.header, c.recent, c.check = nil, true, nil, false
	if info, err := os.Stat(c.Filename); err == nil && c.Append {
		c.start = info.Size() // nobody has written anything in this run yet, or a state will tell more
	}
	if writesFiles(c.Model()) {
		if err := c.open(); err != nil {
			return err
		}
	}
	c.begun = true
	return nil
}

// open opens the file for appending.
func (c *CSVLogger) open() error {
	f, err := os.OpenFile(c.Filename, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return fmt.Errorf("callbacks: CSVLogger: %w; Filename must name a file in a folder that exists", err)
	}
	c.file = f
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("callbacks: CSVLogger: %w", err)
	}
	c.header = size == 0
	return nil
}

// begin empties a file that is to be overwritten. It waits until it is known whether the run continues from a backup.
func (c *CSVLogger) begin() error {
	if !c.fresh || !writesFiles(c.Model()) {
		c.fresh = false
		return nil
	}
	c.fresh, c.header = false, true
	if c.file == nil {
		if err := c.open(); err != nil {
			return err
		}
	}
	return c.cut(0)
}

func (c *CSVLogger) cut(size int) error {
	if err := c.file.Truncate(int64(size)); err != nil {
		return fmt.Errorf("callbacks: CSVLogger: %w", err)
	}
	return nil
}

// OnEpochBegin empties the file if it is to be overwritten.
func (c *CSVLogger) OnEpochBegin(int) error {
	if !c.begun {
		return nil
	}
	return c.begin()
}

// takeOver makes a file that another process has written so far end with the last lines. It finds the newest of these
// lines in the file, drops what comes after it (lines of epochs that were trained again, or half a line), and adds the
// lines that are missing.
func (c *CSVLogger) takeOver() error {
	if c.file == nil {
		if err := c.open(); err != nil {
			return err
		}
	}
	c.check = false
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("callbacks: CSVLogger: %w", err)
	}
	all, err := io.ReadAll(c.file)
	if err != nil {
		return fmt.Errorf("callbacks: CSVLogger: %w", err)
	}
	if c.start > int64(len(all)) {
		c.start = 0 // another file by now
	}
	end, missing := c.known(string(all[c.start:]))
	if end += int(c.start); end < len(all) {
		if err := c.cut(end); err != nil {
			return err
		}
	}
	var text strings.Builder
	if end == 0 && c.keys != nil {
		c.line(&text, append([]string{"epoch"}, c.keys...))
	}
	for _, l := range missing {
		text.WriteString(l.Text)
	}
	return c.write(text.String())
}

// known returns where the part of this run's lines ends that is kept, and the lines that belong after it.
func (c *CSVLogger) known(content string) (end int, missing []csvLine) {
	for i := len(c.recent) - 1; i >= 0; i-- {
		if at := strings.LastIndex("\n"+content, "\n"+c.recent[i].Text); at >= 0 {
			return at + len(c.recent[i].Text), c.recent[i+1:]
		}
	}
	end = strings.LastIndex(content, "\n") + 1
	largest := -1
	for line := range strings.Lines(content[:end]) {
		first, _, _ := strings.Cut(strings.TrimSpace(line), c.separator())
		if epoch, err := strconv.Atoi(first); err == nil {
			largest = max(largest, epoch)
		}
	}
	for _, l := range c.recent {
		if l.Epoch > largest {
			missing = append(missing, l)
		}
	}
	return end, missing
}

// csvState is the state that workers that join later take over.
type csvState struct {
	Start  int64
	Keys   []string
	Recent []csvLine
}

// State returns the last lines.
func (c *CSVLogger) State() ([]byte, error) { return json.Marshal(csvState{c.start, c.keys, c.recent}) }

// SetState restores the lines, from another worker or from a backup.
func (c *CSVLogger) SetState(data []byte) error {
	var s csvState
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	c.start, c.keys, c.recent = s.Start, s.Keys, s.Recent
	if len(c.recent) > 0 || c.Append { // else no epoch had ended
		c.fresh, c.check = false, true
	}
	return nil
}

func (c *CSVLogger) write(text string) error {
	if _, err := c.file.WriteString(text); err != nil {
		return fmt.Errorf("callbacks: CSVLogger: %w", err)
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
	writes := writesFiles(c.Model())
	if !c.begun {
		return errors.New("callbacks: CSVLogger: OnEpochEnd was called without OnTrainBegin")
	}
	if err := c.begin(); err != nil { // where nobody has announced the epoch
		return err
	}
	first := c.keys == nil
	if first {
		c.keys = columns(logs)
	}
	if err := logs.Err(); err != nil {
		return err
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
	var text strings.Builder
	c.line(&text, row)
	c.recent = append(c.recent[max(0, len(c.recent)-maxRecent+1):], csvLine{epoch, text.String()})
	switch {
	case !writes: // another process does, or is lost
		c.check = true
		return c.close()
	case c.check || c.file == nil:
		return c.takeOver()
	case first && c.header:
		var header strings.Builder
		c.line(&header, append([]string{"epoch"}, c.keys...))
		return c.write(header.String() + text.String())
	}
	return c.write(text.String())
}

// vectorText lists the numbers of a metric. Single precision numbers are written with only the digits that they need.
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

// columns returns the names of the logs, including those of validation even if it comes only in later epochs.
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

// line adds a line. Values that need quotation marks get them.
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
	var err error
	switch {
	case !c.begun || !writesFiles(c.Model()):
	case c.check:
		err = c.takeOver()
	case c.Params().Err == nil:
		err = c.begin() // a run of no epochs
	}
	c.begun = false
	return errors.Join(err, c.close())
}

func (c *CSVLogger) close() error {
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

// WantsBatches reports that CSVLogger uses epoch hooks only.
func (c *CSVLogger) WantsBatches() bool { return false }
