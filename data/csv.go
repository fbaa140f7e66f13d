package data

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

// CSVOption is an option of LoadCSV and ReadCSV.
type CSVOption interface{ applyCSV(*csvConfig) }

type csvConfig struct {
	comma      rune
	noHeader   bool
	names      []string
	indices    []int
	label      string
	labelIndex *int
	missing    *float64
}

type csvOption func(*csvConfig)

func (f csvOption) applyCSV(c *csvConfig) { f(c) }

// NoHeader says that the first line holds values. Columns are then chosen by number, and named "0", "1", ...
func NoHeader() CSVOption { return csvOption(func(c *csvConfig) { c.noHeader = true }) }

// Comma sets the character between fields; the default is ','.
func Comma(r rune) CSVOption { return csvOption(func(c *csvConfig) { c.comma = r }) }

// Columns chooses the feature columns and their order by the names in the header. By default all but the label are
// features.
func Columns(names ...string) CSVOption { return csvOption(func(c *csvConfig) { c.names = names }) }

// ColumnIndices chooses the feature columns and their order by number, from 0; negative numbers count from the end.
func ColumnIndices(indices ...int) CSVOption {
	return csvOption(func(c *csvConfig) { c.indices = indices })
}

// LabelColumn names the column that holds the target. By default there is none.
func LabelColumn(name string) CSVOption { return csvOption(func(c *csvConfig) { c.label = name }) }

// LabelIndex gives the number of the column that holds the target, from 0; -1 is the last column.
func LabelIndex(index int) CSVOption {
	return csvOption(func(c *csvConfig) { c.labelIndex = &index })
}

// MissingValue replaces empty features. By default an empty feature is an error; an empty label always is.
func MissingValue(v float64) CSVOption { return csvOption(func(c *csvConfig) { c.missing = &v }) }

// CSV is the content of a file of comma-separated values.
type CSV struct {
	Columns []string // names of the features
	X       Array    // features, float32, shape (rows, columns)

	// Y holds the labels, shape (rows); nil without a label column. Labels that are all integers are int64, other
	// numbers are float32, and words are int64 positions in Classes.
	Y       Array
	Classes []string // the distinct words of the label column, sorted; nil if the labels are numbers
}

// Source returns the rows as examples for Fit, Evaluate and Predict.
func (c *CSV) Source() *ArraySource {
	if c.Y.IsZero() {
		return Arrays(c.X, nil)
	}
	return Arrays(c.X, c.Y)
}

// LoadCSV reads a file of comma-separated values (RFC 4180) whose features are numbers. The first line names the
// columns unless NoHeader is given. All rows must have the same number of fields.
func LoadCSV(path string, options ...CSVOption) (*CSV, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("data: LoadCSV: %w", err)
	}
	defer f.Close()
	c, err := readCSV(f, options)
	if err != nil {
		return nil, fmt.Errorf("data: LoadCSV: %w", atomicfile.Named(path, err))
	}
	return c, nil
}

// ReadCSV is LoadCSV for a reader.
func ReadCSV(r io.Reader, options ...CSVOption) (*CSV, error) {
	c, err := readCSV(r, options)
	if err != nil {
		return nil, fmt.Errorf("data: ReadCSV: %w", err)
	}
	return c, nil
}

var errNoReader = errors.New("the reader is nil")

func readCSV(r io.Reader, options []CSVOption) (*CSV, error) {
	if r == nil {
		return nil, errNoReader
	}
	config := csvConfig{comma: ','}
	for _, o := range options {
		if o != nil {
			o.applyCSV(&config)
		}
	}
	buffered := bufio.NewReader(r)
	if mark, _ := buffered.Peek(3); string(mark) == "\ufeff" { // spreadsheets write a byte order mark
		_, _ = buffered.Discard(3)
	}
	lines := csv.NewReader(buffered)
	lines.Comma, lines.ReuseRecord, lines.TrimLeadingSpace = config.comma, true, true
	first, err := lines.Read()
	if err == io.EOF {
		return nil, errors.New("the file is empty")
	}
	if err != nil {
		return nil, config.explain(err, nil, 0)
	}
	header := slices.Clone(first)
	for i := range header {
		if header[i] = strings.TrimSpace(header[i]); config.noHeader {
			header[i] = strconv.Itoa(i)
		}
	}
	table, err := config.choose(header)
	if err != nil {
		return nil, err
	}
	if config.noHeader {
		if err := table.add(first, lines); err != nil {
			return nil, err
		}
	}
	for {
		record, err := lines.Read()
		if err == io.EOF {
			return table.finish()
		}
		if err != nil {
			return nil, config.explain(err, record, len(header))
		}
		if err := table.add(record, lines); err != nil {
			return nil, err
		}
	}
}

// explain adds details to an error of package csv about a record; fields is the number of fields in the first line.
func (c *csvConfig) explain(err error, record []string, fields int) error {
	var parse *csv.ParseError
	switch {
	case !errors.As(err, &parse):
		if !utf8.ValidRune(c.comma) || strings.ContainsRune("\"\r\n\x00\ufffd", c.comma) {
			return fmt.Errorf("Comma is %q, which cannot separate fields; expected a character such as ',', ';' or a tab", c.comma)
		}
		return err
	case errors.Is(err, csv.ErrFieldCount):
		return fmt.Errorf("line %d has %d fields, the first line %d; expected equally many in all, empty ones too, and one that holds %q in double quotes",
			parse.Line, len(record), fields, c.comma)
	}
	return fmt.Errorf("line %d, character %d: %w; expected fields without double quotes, or in a pair of them, with those inside doubled", parse.Line, parse.Column, parse.Err)
}

// separator returns the character that seems to separate the fields of a line, if it can find one.
func separator(line string) (rune, bool) {
	for _, c := range ";\t|" {
		if strings.ContainsRune(line, c) {
			return c, true
		}
	}
	return 0, false
}

// csvTable collects the rows.
type csvTable struct {
	header   []string
	features []int
	label    int // -1: none
	missing  *float64
	values   []float32
	labels   []string
	words    map[string]string // one copy of each label
}

// choose finds the columns that the options name.
func (c *csvConfig) choose(header []string) (*csvTable, error) {
	t := &csvTable{header: header, label: -1, missing: c.missing, words: map[string]string{}}
	byNumber := func(i int) (int, error) {
		if i < -len(header) || i >= len(header) {
			return 0, fmt.Errorf("column %d of %d; expected a number from %d to %d", i, len(header), -len(header), len(header)-1)
		}
		return (i + len(header)) % len(header), nil
	}
	byName := func(name string) (int, error) {
		i := slices.Index(header, name)
		if i < 0 {
			return 0, fmt.Errorf("no column is named %q; the file has %q", name, header)
		}
		return i, nil
	}
	var err error
	switch {
	case c.label != "" && c.labelIndex != nil, c.names != nil && c.indices != nil:
		return nil, errors.New("columns are chosen both by name and by number; expected one of the two")
	case c.label != "":
		t.label, err = byName(c.label)
	case c.labelIndex != nil:
		t.label, err = byNumber(*c.labelIndex)
	}
	add := func(i int, e error) {
		t.features = append(t.features, i)
		err = errors.Join(err, e)
	}
	for _, name := range c.names {
		add(byName(name))
	}
	for _, i := range c.indices {
		add(byNumber(i))
	}
	if c.names == nil && c.indices == nil {
		for i := range header {
			if i != t.label {
				add(i, nil)
			}
		}
	}
	if err == nil && len(t.features) == 0 {
		err = errors.New("no column is left for the features")
	}
	return t, err
}

func (t *csvTable) add(record []string, lines *csv.Reader) error {
	for _, i := range t.features {
		field := strings.TrimSpace(record[i])
		if field == "" && t.missing != nil {
			t.values = append(t.values, float32(*t.missing))
			continue
		}
		v, err := strconv.ParseFloat(field, 32)
		if err != nil && !errors.Is(err, strconv.ErrRange) { // too large a number is infinite
			line, _ := lines.FieldPos(i)
			remedy := "choose the columns that are numbers with Columns, or name the label with LabelColumn"
			if c, seems := separator(t.header[0]); seems && len(t.header) == 1 {
				remedy = fmt.Sprintf("%q seems to separate the fields: give Comma(%q)", c, c)
			} else if field == "" {
				remedy = "give MissingValue to fill empty fields"
			}
			return fmt.Errorf("line %d, column %q: %q is no number; %s", line, t.header[i], abbreviate(field), remedy)
		}
		t.values = append(t.values, float32(v))
	}
	if t.label < 0 {
		return nil
	}
	word := strings.TrimSpace(record[t.label])
	if word == "" {
		line, _ := lines.FieldPos(t.label)
		return fmt.Errorf("line %d, column %q: the label is empty", line, t.header[t.label])
	}
	if _, ok := t.words[word]; !ok {
		word = strings.Clone(word) // the record's memory holds the whole line
		t.words[word] = word
	}
	t.labels = append(t.labels, t.words[word])
	return nil
}

func (t *csvTable) finish() (*CSV, error) {
	rows := len(t.values) / len(t.features)
	if rows == 0 {
		return nil, errors.New("no row follows the header (NoHeader says that there is none)")
	}
	c := &CSV{X: wrap(t.values, rows, len(t.features))}
	for _, i := range t.features {
		c.Columns = append(c.Columns, t.header[i])
	}
	if t.label >= 0 {
		c.Y, c.Classes = encodeLabels(t.labels, t.words)
	}
	return c, nil
}

// encodeLabels converts labels to the types that CSV.Y documents.
func encodeLabels(labels []string, words map[string]string) (y Array, classes []string) {
	whole, numbers := map[string]int64{}, map[string]float32{}
	for w := range words {
		if v, err := strconv.ParseInt(w, 10, 64); err == nil {
			whole[w] = v
		}
		if v, err := strconv.ParseFloat(w, 32); err == nil {
			numbers[w] = float32(v)
		}
	}
	if len(whole) < len(words) && len(numbers) == len(words) {
		values := make([]float32, len(labels))
		for i, w := range labels {
			values[i] = numbers[w]
		}
		return wrap(values, len(values)), nil
	}
	if len(whole) < len(words) {
		for w := range words {
			classes = append(classes, w)
		}
		slices.Sort(classes)
		for i, w := range classes {
			whole[w] = int64(i)
		}
	}
	values := make([]int64, len(labels))
	for i, w := range labels {
		values[i] = whole[w]
	}
	return wrap(values, len(values)), classes
}
