package main

import (
	"fmt"
	"strings"
)

type diagram struct {
	title  string
	rows   [][]box
	arrows []arrow
}

type box struct {
	name, label, detail string
	x, y, width         int // of its left upper corner
}

type arrow struct {
	from, to place
	label    string
}

// place is a box by its row and column.
type place struct{ row, column int }

// parse reads a diagram. Errors begin with the number of the line.
func parse(text string) (*diagram, error) {
	d, places := &diagram{}, map[string]place{}
	for i, line := range strings.Split(text, "\n") {
		kind, rest, ok := strings.Cut(line, ":")
		rest = strings.TrimSpace(rest)
		var err error
		switch {
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "#"):
		case ok && kind == "title":
			d.title = rest
		case ok && kind == "row":
			err = d.addRow(rest, places)
		case ok && kind == "arrow":
			err = d.addArrow(rest, places)
		default:
			err = fmt.Errorf("received %q; expected title:, row: or arrow:", line)
		}
		if err != nil {
			return nil, fmt.Errorf("%d: %w", i+1, err)
		}
	}
	if d.title == "" || len(d.rows) == 0 {
		return nil, fmt.Errorf("1: a diagram needs a title and a row")
	}
	d.arrange()
	return d, nil
}

func (d *diagram) addRow(text string, places map[string]place) error {
	var row []box
	for _, part := range strings.Split(text, "|") {
		name, label, _ := strings.Cut(part, "=")
		b := box{name: strings.TrimSpace(name)}
		b.label, b.detail, _ = strings.Cut(strings.TrimSpace(label), " / ")
		if b.name != "" {
			if _, taken := places[b.name]; taken || b.label == "" {
				return fmt.Errorf("the box %q has no label, or its name is taken", b.name)
			}
			places[b.name] = place{len(d.rows), len(row)}
		}
		row = append(row, b)
	}
	d.rows = append(d.rows, row)
	return nil
}

func (d *diagram) addArrow(text string, places map[string]place) error {
	ends, label, _ := strings.Cut(text, ":")
	from, to, ok := strings.Cut(ends, "->")
	a, known := places[strings.TrimSpace(from)]
	b, also := places[strings.TrimSpace(to)]
	switch {
	case !ok || !known || !also:
		return fmt.Errorf("received the arrow %q; expected NAME -> NAME of boxes above it", ends)
	case a == b || a.row-b.row > 1 || b.row-a.row > 1:
		return fmt.Errorf("the arrow %q does not join different boxes of one row or of neighbouring rows", ends)
	}
	d.arrows = append(d.arrows, arrow{a, b, strings.TrimSpace(label)})
	return nil
}
