package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/data"
)

// readArrays reads the arrays of a file: .npy, .npz, file.npz:key, or .csv.
func readArrays(path string) (data.Tensors, error) {
	archive, key := splitKey(path)
	if key != "" {
		all, err := data.LoadNPZ(archive)
		if err != nil {
			return data.Tensors{}, err
		}
		a := all.Get(key)
		if a.IsZero() {
			return data.Tensors{}, fmt.Errorf("%s has no array %q; it has %s", archive, key, strings.Join(all.Names, ", "))
		}
		return data.List(a), nil
	}
	switch {
	case strings.HasSuffix(path, ".npz"):
		return data.LoadNPZ(path)
	case strings.HasSuffix(path, ".npy"):
		a, err := data.LoadNPY(path)
		if err != nil {
			return data.Tensors{}, err
		}
		return data.List(a), nil
	case strings.HasSuffix(path, ".csv"):
		return readCSV(path)
	}
	return data.Tensors{}, usagef("%s: unknown kind of file; expected .npy, .npz, file.npz:key or .csv", path)
}

// splitKey splits file.npz:key.
func splitKey(path string) (file, key string) {
	if i := strings.LastIndex(path, ".npz:"); i >= 0 && i+len(".npz:") < len(path) {
		return path[:i+len(".npz")], path[i+len(".npz:"):]
	}
	return path, ""
}

// readCSV reads a table of numbers; the first line may name the columns.
func readCSV(path string) (data.Tensors, error) {
	named, err := hasHeader(path)
	if err != nil {
		return data.Tensors{}, err
	}
	var options []data.CSVOption
	if !named {
		options = append(options, data.NoHeader())
	}
	table, err := data.LoadCSV(path, options...)
	if err != nil {
		return data.Tensors{}, err
	}
	return data.List(table.X), nil
}

// hasHeader reports whether a word of the first line is not a number.
func hasHeader(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	first, err := csv.NewReader(f).Read()
	if err == io.EOF {
		return false, nil // LoadCSV says what the file lacks
	}
	if err != nil {
		return false, fmt.Errorf("%s: the first line: %w", path, err)
	}
	return slices.ContainsFunc(first, func(word string) bool {
		_, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		return err != nil && strings.TrimSpace(word) != ""
	}), nil
}

// pick returns the arrays of a file for a role ("x", "y" or "sample_weight"); if the model has several inputs or
// outputs, it returns one for each name. names are the model's inputs or outputs. An archive for several roles has
// members "x" or "x.<name>". Any other archive names its members after the inputs or outputs, or has as many members
// under other names. It is an error if only some of the names are the model's.
func pick(all data.Tensors, role, flag, file string, names []string) (data.Tensors, error) {
	if all.Names == nil {
		return all, nil
	}
	complete := func() bool {
		return len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return all.Get(n).IsZero() })
	}
	whole := len(names) > 1 && complete() // inputs may have names such as "x" or "x.0" themselves
	if a := all.Get(role); !a.IsZero() && !whole {
		return data.List(a), nil
	}
	if part := withPrefix(all, role+"."); part.Len() > 0 && !whole {
		all = part
	}
	if complete() {
		var out data.Tensors
		for _, name := range names {
			out.Names, out.Arrays = append(out.Names, name), append(out.Arrays, all.Get(name))
		}
		if len(names) == 1 {
			out.Names = nil
		}
		return out, nil
	}
	ours := slices.ContainsFunc(names, func(n string) bool { return !all.Get(n).IsZero() })
	if len(names) == 0 || !ours && all.Len() == len(names) || all.Len() == 1 {
		return data.List(all.Arrays...), nil
	}
	return data.Tensors{}, fmt.Errorf("--%s: %s has the arrays %s; expected %s, or as many under names of which none is among these; %s:key picks one",
		flag, file, strings.Join(all.Names, ", "), strings.Join(names, ", "), file)
}

func withPrefix(all data.Tensors, prefix string) (part data.Tensors) {
	for i, name := range all.Names {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			part.Names, part.Arrays = append(part.Names, rest), append(part.Arrays, all.Arrays[i])
		}
	}
	return part
}

// read reads the arrays for a role from the file given to a flag; none if the flag was not used.
func read(path, role, flag string, names []string) (any, error) {
	if path == "" {
		return nil, nil
	}
	all, err := readArrays(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	t, err := pick(all, role, flag, path, names)
	if err != nil {
		return nil, err
	}
	if t.Names == nil && t.Len() == 1 {
		return t.Arrays[0], nil
	}
	return t, nil
}

// writeArrays writes the outputs of a model to .npy or, with several outputs, .npz.
func writeArrays(path string, names []string, arrays []data.Array) error {
	switch {
	case strings.HasSuffix(path, ".csv"):
		return writeCSV(path, names, arrays)
	case strings.HasSuffix(path, ".npz"):
		if len(arrays) == 1 && len(names) != 1 {
			names = []string{"output"}
		}
		return data.SaveNPZ(path, data.Tensors{Names: names, Arrays: arrays})
	case len(arrays) == 1:
		return data.SaveNPY(path, arrays[0])
	}
	return usagef("--output %s: the model has %d outputs (%s); expected a .npz file", path, len(arrays), strings.Join(names, ", "))
}

// checkOutput refuses an unusable output file for arrays before any work is done.
func checkOutput(path string) error {
	if !strings.HasSuffix(path, ".npy") && !strings.HasSuffix(path, ".npz") && !strings.HasSuffix(path, ".csv") {
		return usagef("--output %s: unknown kind of file; expected .npy, .npz or .csv", path)
	}
	return checkPlace("--output ", path)
}

// checkPlace refuses a file that cannot be written, before hours of work are done for it. what begins the error
// message.
func checkPlace(what, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usagef("%s%s: is a folder; name a file", what, path)
	}
	folder := filepath.Dir(path)
	switch info, err := os.Stat(folder); {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("%s%s: there is no folder %s; make it first", what, path, folder)
	case err == nil && !info.IsDir():
		return usagef("%s%s: %s is a file, not a folder", what, path, folder)
	}
	return nil
}
