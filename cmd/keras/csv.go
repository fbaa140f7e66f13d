package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/atomicfile"
)

// writeCSV writes a line for each example, with the outputs side by side; the first line names the columns, output_0,
// output_1, ...
func writeCSV(path string, names []string, arrays []data.Array) error {
	var header []string
	widths := make([]int, len(arrays))
	for i, a := range arrays {
		name := "output"
		if i < len(names) {
			name = names[i]
		} else if len(arrays) > 1 {
			name = fmt.Sprintf("output_%d", i)
		}
		switch shape := a.Shape(); {
		case len(shape) == 1:
			widths[i], header = 1, append(header, name)
		case len(shape) == 2 && shape[1] == 1:
			widths[i], header = 1, append(header, name)
		case len(shape) == 2:
			widths[i] = shape[1]
			for k := range shape[1] {
				header = append(header, fmt.Sprintf("%s_%d", name, k))
			}
		default:
			return usagef("--output %s: output %s has the shape %v; a .csv file takes a number or a row of numbers an example, use .npy or .npz", path, name, shape)
		}
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		lines := csv.NewWriter(w)
		if err := lines.Write(header); err != nil {
			return err
		}
		line := make([]string, 0, len(header))
		for row := range arrays[0].Shape()[0] {
			line = line[:0]
			for i, a := range arrays {
				for k := range widths[i] {
					line = append(line, csvWord(a, row*widths[i]+k))
				}
			}
			if err := lines.Write(line); err != nil {
				return err
			}
		}
		lines.Flush()
		return lines.Error()
	})
}

// csvWord writes element i of an array with enough digits to read back the same number.
func csvWord(a data.Array, i int) string {
	switch values := a.Elements().(type) {
	case []float32:
		return strconv.FormatFloat(float64(values[i]), 'g', -1, 32)
	case []float64:
		return strconv.FormatFloat(values[i], 'g', -1, 64)
	default:
		return fmt.Sprint(reflect.ValueOf(values).Index(i))
	}
}
