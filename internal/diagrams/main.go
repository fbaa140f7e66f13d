// Command diagrams draws the pictures of the documentation: docs/diagrams/NAME.txt becomes docs/diagrams/NAME.svg.
//
//	go run ./internal/diagrams
//
// A text has a title, rows of boxes and arrows between them:
//
//	title: One step
//	row: fit = Fit / keras/fit.go | data = Dataset
//	row: step = Program of the step
//	arrow: fit -> step: traces
//
// After " / " a box has a second, smaller line. Rows are drawn from top to bottom and their boxes from left to right; a
// box without a name leaves a gap. An arrow joins boxes of one row or of neighbouring rows.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	names, err := filepath.Glob(filepath.Join("docs", "diagrams", "*.txt"))
	for _, name := range names {
		if err == nil {
			err = draw(name)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// picture returns the name of the file that a text becomes.
func picture(name string) string { return strings.TrimSuffix(name, ".txt") + ".svg" }

func draw(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	d, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s:%w", name, err)
	}
	return os.WriteFile(picture(name), []byte(d.svg()), 0o666)
}
