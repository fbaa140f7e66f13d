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

// CSVLogger writes the values of each epoch to a file: a header with "epoch" and the names in alphabetical order, and one line an
// epoch, which is on disk when the next epoch begins. Epochs count from 0. Lines end in "\r\n".
//
// The columns are those of the first epoch of the run. Where it has no validation values, a column with "val_" is added for each
// of its names. A value that is missing is "NA"; a metric with several numbers is a list.
//
// Of several workers the chief alone has the file open. Where the chief is lost and the job goes on, the next one adds what is missing.
type CSVLogger struct {
	Base
	// Filename is the file; its folder must exist.
	Filename string `keras:"filename"`
	// Separator stands between columns; "" is a comma. It must be one character.
	Separator string `keras:"separator,default=\",\""`
	// Append adds to a file that is there instead of writing it anew; a file with content gets no second header.
	Append bool `keras:"append"`

	begun  bool
	joined bool     // others had trained before this process came
	file   *os.File // nil: another process writes
	keys   []string
	header bool
	recent []csvLine // the last lines, whoever wrote them
	check  bool      // another process wrote before this one: some of them may be missing
}

// csvLine is the line of an epoch.
type csvLine struct {
	Epoch int
	Text  string
}

// maxRecent bounds the lines that are kept for the case that this process becomes the chief. Workers are at most one epoch apart.
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
	c.begun, c.joined = true, joinsRunningJob(c.Model())
	c.keys, c.header, c.recent, c.check = nil, true, nil, false
	if !writesFiles(c.Model()) {
		return nil
	}
	return c.open(c.Append || c.joined)
}

// open opens the file, to write it anew or to add to it.
func (c *CSVLogger) open(add bool) error {
	how := os.O_RDWR | os.O_CREATE | os.O_APPEND
	if !add {
		how |= os.O_TRUNC
	}
	f, err := os.OpenFile(c.Filename, how, 0o666)
	if err != nil {
		return fmt.Errorf("callbacks: CSVLogger: %w; Filename must name a file in a folder that exists", err)
	}
	c.file = f
	if add {
		size, err := f.Seek(0, io.SeekEnd)
		if err != nil {
			return fmt.Errorf("callbacks: CSVLogger: %w", err)
		}
		c.header = size == 0
	}
	return nil
}

// takeOver adds the last lines that are not in the file, which another process wrote until now.
func (c *CSVLogger) takeOver() error {
	if c.file == nil {
		if err := c.open(true); err != nil {
			return err
		}
	}
	c.check = false
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("callbacks: CSVLogger: %w", err)
	}
	content, err := io.ReadAll(c.file)
	if err != nil {
		return fmt.Errorf("callbacks: CSVLogger: %w", err)
	}
	last := -1
	for line := range strings.Lines(string(content)) {
		first, _, _ := strings.Cut(strings.TrimSpace(line), c.separator())
		if epoch, err := strconv.Atoi(first); err == nil {
			last = max(last, epoch)
		}
	}
	var text strings.Builder
	if len(content) == 0 && c.keys != nil {
		c.line(&text, append([]string{"epoch"}, c.keys...))
	}
	for _, l := range c.recent {
		if l.Epoch > last {
			text.WriteString(l.Text)
		}
	}
	return c.write(text.String())
}

// csvState is what workers that come later take over.
type csvState struct {
	Keys   []string
	Recent []csvLine
}

// State returns the last lines.
func (c *CSVLogger) State() ([]byte, error) { return json.Marshal(csvState{c.keys, c.recent}) }

// SetState takes them over, from another worker.
func (c *CSVLogger) SetState(data []byte) error {
	var s csvState
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if c.keys != nil || c.joined { // else the state is that of a backup: a file that is written anew has the epochs of this run
		c.keys, c.recent, c.check = s.Keys, s.Recent, true
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
	var err error
	if c.begun && c.check && writesFiles(c.Model()) {
		err = c.takeOver()
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

// WantsBatches reports that CSVLogger looks at epochs only.
func (c *CSVLogger) WantsBatches() bool { return false }
