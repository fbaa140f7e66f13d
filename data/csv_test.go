package data_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

const irises = `length, width ,colour,species
5.1,3.5,0,setosa
4.9,,1, virginica
"6",2.5,0,setosa
`

func TestReadCSV(t *testing.T) {
	c, err := data.ReadCSV(strings.NewReader(irises), data.LabelColumn("species"), data.MissingValue(-1))
	require.NoError(t, err)
	assert.Equal(t, []string{"length", "width", "colour"}, c.Columns)
	assert.Equal(t, []int{3, 3}, shapeOf(c.X))
	assert.Equal(t, []float32{5.1, 3.5, 0, 4.9, -1, 1, 6, 2.5, 0}, c.X.Elements())
	assert.Equal(t, []int64{0, 1, 0}, c.Y.Elements())
	assert.Equal(t, []string{"setosa", "virginica"}, c.Classes)
	assert.Equal(t, "x float32[3 3], y int64[3]", c.Source().All().String())

	c, err = data.ReadCSV(strings.NewReader(irises), data.Columns("colour", "length"), data.LabelIndex(-2))
	require.NoError(t, err)
	assert.Equal(t, []string{"colour", "length"}, c.Columns)
	assert.Equal(t, []float32{0, 5.1, 1, 4.9, 0, 6}, c.X.Elements())
	assert.Equal(t, []int64{0, 1, 0}, c.Y.Elements())
	assert.Nil(t, c.Classes)
}

func TestReadCSVDialects(t *testing.T) {
	c, err := data.ReadCSV(strings.NewReader("1;2,5\n3;4,5\n"), data.NoHeader(), data.Comma(';'), data.ColumnIndices(0))
	require.NoError(t, err)
	assert.Equal(t, []string{"0"}, c.Columns)
	assert.Equal(t, []float32{1, 3}, c.X.Elements())
	assert.True(t, c.Y.IsZero())
	assert.Equal(t, "x float32[2 1]", c.Source().All().String())

	c, err = data.ReadCSV(strings.NewReader("\ufeffa,b\r\n1,2.5\r\n-inf,1e99\r\n"), data.LabelIndex(1))
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, c.Columns, "the byte order mark is no part of the name")
	assert.Equal(t, []float32{1, float32(math.Inf(-1))}, c.X.Elements())
	_, err = data.ReadCSV(strings.NewReader("a,b\n1,2\n"), data.LabelColumn("b"))
	require.NoError(t, err)
}

func TestCSVLabelTypes(t *testing.T) {
	for text, want := range map[string]any{
		"y,x\n3,0\n-1,0\n":        []int64{3, -1},
		"y,x\n3,0\n0.5,0\n":       []float32{3, .5},
		"y,x\nb,0\na,0\nb,0\n":    []int64{1, 0, 1},
		"y,x\n1,0\na,0\n":         []int64{0, 1}, // one word makes all of them words
		"y,x\n1,0\n99999999999,0": []int64{1, 99999999999},
	} {
		c, err := data.ReadCSV(strings.NewReader(text), data.LabelColumn("y"))
		require.NoError(t, err)
		assert.Equal(t, want, c.Y.Elements(), text)
	}
}

func TestReadCSVRejects(t *testing.T) {
	for want, c := range map[string]struct {
		text    string
		options []data.CSVOption
	}{
		"the file is empty":                          {"", nil},
		"no row follows the header":                  {"a,b\n", nil},
		`line 3, column "b": "x" is no number`:       {"a,b\n1,2\n3,x\n", nil},
		`line 2, column "a": "" is no number; give`:  {"a,b\n,2\n", nil},
		`line 2, column "b": the label is empty`:     {"a,b\n1,\n", []data.CSVOption{data.LabelIndex(1), data.MissingValue(0)}},
		"line 3 has 1 fields, the first line 2; exp": {"a,b\n1,2\n3\n", nil},
		"line 2 has 3 fields, the first line 2; exp": {"a;b\n1;2;3\n", []data.CSVOption{data.Comma(';')}},
		`line 2, character 2: bare " in non-quoted`:  {"a,b\n1\"2,3\n", nil},
		`line 1, character 2: bare " in non-quoted`:  {"a\"b\n3\n", nil},
		`';' seems to separate the fields: give Com`: {"a;b\n1;2\n", nil},
		`'\t' seems to separate the fields: give Co`: {"a\tb\n1\t2\n", nil},
		`no column is named "c"; the file has`:       {"a,b\n1,2\n", []data.CSVOption{data.LabelColumn("c")}},
		`no column is named "d"`:                     {"a,b\n1,2\n", []data.CSVOption{data.Columns("a", "d")}},
		"column 2 of 2; expected a number from -2":   {"a,b\n1,2\n", []data.CSVOption{data.ColumnIndices(2)}},
		"column -3 of 2":                             {"a,b\n1,2\n", []data.CSVOption{data.LabelIndex(-3)}},
		"both by name and by number":                 {"a,b\n1,2\n", []data.CSVOption{data.LabelColumn("a"), data.LabelIndex(0)}},
		"no column is left for the features":         {"a\n1\n", []data.CSVOption{data.LabelColumn("a")}},
		`Comma is '"', which cannot separate fields`: {"a\n1\n", []data.CSVOption{data.Comma('"')}},
		`line 2, column "0": "a" is no number; choo`: {"1\na\n", []data.CSVOption{data.NoHeader()}},
	} {
		_, err := data.ReadCSV(strings.NewReader(c.text), c.options...)
		require.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "data: ReadCSV: ")
	}
}

func TestLoadCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	require.NoError(t, os.WriteFile(path, []byte("a\n1\nx\n"), 0o600))
	_, err := data.LoadCSV(path)
	require.ErrorContains(t, err, "data: LoadCSV: "+path+`: line 3, column "a"`)
	_, err = data.LoadCSV(path + ".gone")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func ExampleReadCSV() {
	file := strings.NewReader("height,weight,animal\n0.3,4.1,cat\n0.6,25,dog\n0.25,3.8,cat\n")
	c, err := data.ReadCSV(file, data.LabelColumn("animal"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Columns, c.X.Shape())
	fmt.Println(c.Classes, c.Y.Elements())
	// Output:
	// [height weight] [3 2]
	// [cat dog] [0 1 0]
}
