package main

import (
	"fmt"
	"slices"
	"strings"
)

// dispatch collects the functions of register tiles, and generates Go code that calls them by number.
type dispatch struct {
	tiles []string // the families of tiles, in the order of their numbers in package micro's table
	kinds []kind
}

// kind is a set of functions that differ only in their number of rows.
type kind struct {
	tile, vectors, rows int
	channels            bool
	name                string
}

func (d *dispatch) add(tile string, channels bool, vectors int, name string, rows int) {
	at := slices.Index(d.tiles, tile)
	if at < 0 {
		at = len(d.tiles)
		d.tiles = append(d.tiles, tile)
	}
	d.kinds = append(d.kinds, kind{at, vectors, rows, channels, title(name)})
}

func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// goText returns the table's constants, the maximum numbers of rows, and the function that calls a tile. It calls
// directly, so that the argument stays on the stack.
func (d *dispatch) goText() string {
	var s, rows, calls strings.Builder
	s.WriteString("\n// The families of tiles.\nconst (\n")
	for i, t := range d.tiles {
		fmt.Fprintf(&s, "family%s = %d\n", title(t), i)
	}
	s.WriteString(")\n")
	most := 0
	for _, k := range d.kinds {
		most = max(most, k.vectors)
	}
	for _, k := range d.kinds {
		fmt.Fprintf(&rows, "%d: %d, ", k.number(most), k.rows)
		fmt.Fprintf(&calls, "case %d:\ncall%s(rows, c)\n", k.number(most), k.name)
	}
	fmt.Fprintf(&s, "\n// kindOf numbers the functions of a family by vectors and by whether A is a vector.\nfunc kindOf(family, vectors int, channels bool) int {\n"+
		"kind := family*%d + vectors - 1\nif channels {\nkind += %d\n}\nreturn kind\n}\n", 2*most, most)
	fmt.Fprintf(&s, "\nvar mostRows = [...]uint8{%s}\n", strings.TrimSuffix(rows.String(), ", "))
	fmt.Fprintf(&s, "\n// maxRows is the maximum number of rows of a tile; 0 if there is no such tile.\nfunc maxRows(family, vectors int, channels bool) int { return int(mostRows[kindOf(family, vectors, channels)]) }\n")
	fmt.Fprintf(&s, "\n// dispatch calls the function for a tile.\nfunc dispatch(family, vectors int, channels bool, rows int, c *call) {\n"+
		"switch kindOf(family, vectors, channels) {\n%s}\n}\n", calls.String())
	return s.String()
}

func (k kind) number(most int) int {
	n := k.tile*2*most + k.vectors - 1
	if k.channels {
		n += most
	}
	return n
}
