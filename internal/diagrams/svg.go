package main

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

const (
	total     = 920 // width of a picture
	margin    = 20
	gap       = 90 // least distance of the boxes of a row
	widest    = 300
	boxHeight = 56
	rowHeight = 124
	head      = 56 // height of the title
)

// style is for light and for dark pages.
const style = `
text { font: 14px sans-serif; fill: #1f2937; text-anchor: middle; }
.title { font-size: 17px; font-weight: bold; }
.detail, .label { font-size: 12px; fill: #4b5563; }
.label { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; }
.page { fill: #ffffff; }
.box { fill: #e8f0fe; stroke: #3b6fb6; stroke-width: 1.5; }
.arrow { stroke: #6b7280; stroke-width: 1.5; fill: none; marker-end: url(#tip); }
.tip { fill: #6b7280; }
@media (prefers-color-scheme: dark) {
text { fill: #e5e7eb; }
.detail, .label { fill: #b6bdc9; }
.label { stroke: #0d1117; }
.page { fill: #0d1117; }
.box { fill: #16263d; stroke: #6ea0e6; }
.arrow { stroke: #9aa4b2; }
.tip { fill: #9aa4b2; }
}
`

// arrange gives every box its place.
func (d *diagram) arrange() {
	for i, row := range d.rows {
		width := min(widest, (total-2*margin-(len(row)-1)*gap)/len(row))
		between := 0
		if len(row) > 1 {
			between = (total - 2*margin - len(row)*width) / (len(row) - 1)
		}
		left := margin
		if len(row) == 1 {
			left = (total - width) / 2
		}
		for j := range row {
			row[j].x, row[j].y, row[j].width = left+j*(width+between), head+i*rowHeight, width
		}
	}
}

func (d *diagram) svg() string {
	height := head + (len(d.rows)-1)*rowHeight + boxHeight + margin
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n", total, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n", html.EscapeString(d.title), style)
	b.WriteString(`<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">` +
		"<path class=\"tip\" d=\"M0 0 L8 4 L0 8 z\"/></marker></defs>\n")
	fmt.Fprintf(&b, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", total, height)
	text(&b, "title", total/2, 30, d.title)
	for _, a := range d.arrows {
		d.arrow(&b, a)
	}
	for _, row := range d.rows {
		for _, x := range row {
			if x.name == "" {
				continue
			}
			fmt.Fprintf(&b, "<rect class=\"box\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"7\"/>\n", x.x, x.y, x.width, boxHeight)
			if x.detail == "" {
				text(&b, "name", x.x+x.width/2, x.y+33, x.label)
				continue
			}
			text(&b, "name", x.x+x.width/2, x.y+24, x.label)
			text(&b, "detail", x.x+x.width/2, x.y+43, x.detail)
		}
	}
	for _, a := range d.arrows {
		x1, y1, x2, y2 := d.ends(a)
		if a.label != "" {
			below := 4
			if y1 == y2 {
				below = -6 // on the line
			}
			text(&b, "label", (x1+x2)/2, (y1+y2)/2+below, a.label)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func text(b *strings.Builder, class string, x, y int, s string) {
	fmt.Fprintf(b, "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>\n", class, x, y, html.EscapeString(s))
}

func (d *diagram) arrow(b *strings.Builder, a arrow) {
	x1, y1, x2, y2 := d.ends(a)
	fmt.Fprintf(b, "<path class=\"arrow\" d=\"M%d %d L%d %d\"/>\n", x1, y1, x2, y2)
}

// ends returns where an arrow begins and ends. Two arrows between the same boxes lie beside each other.
func (d *diagram) ends(a arrow) (x1, y1, x2, y2 int) {
	from, to := d.rows[a.from.row][a.from.column], d.rows[a.to.row][a.to.column]
	aside := 0
	if slices.ContainsFunc(d.arrows, func(b arrow) bool { return b.from == a.to && b.to == a.from }) {
		aside = 14
	}
	if a.from.row == a.to.row {
		y := from.y + boxHeight/2
		if a.from.column < a.to.column {
			return from.x + from.width, y - aside, to.x, y - aside
		}
		return from.x, y + aside, to.x + to.width, y + aside
	}
	x1, x2 = from.x+from.width/2, to.x+to.width/2
	if a.from.row < a.to.row {
		return x1 - 5*aside, from.y + boxHeight, x2 - 5*aside, to.y
	}
	return x1 + 5*aside, from.y, x2 + 5*aside, to.y + boxHeight
}
