package plot

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// writeDOT writes the graph in Graphviz's language, with the boxes and settings of Keras's model_to_dot.
func writeDOT(w io.Writer, d *diagram, c *config) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "digraph G {\nrankdir=%s;\nconcentrate=true;\ndpi=%d;\nsplines=ortho;\nnode [shape=record];\n", c.direction, c.dpi)
	ids := map[*box]string{}
	dotBoxes(&b, d, c, ids)
	dotEdges(&b, d, ids)
	b.WriteString("}\n")
	_, err := w.Write(b.Bytes())
	return err
}

func dotBoxes(b *bytes.Buffer, d *diagram, c *config, ids map[*box]string) {
	for _, x := range d.boxes {
		if x.inner != nil {
			fmt.Fprintf(b, "subgraph %q {\nstyle=dashed;\nlabel=%q;\nlabeljust=l;\n", fmt.Sprintf("cluster_%d", len(ids)), printable(x.name))
			ids[x] = "" // counts, so that each cluster has its own number
			dotBoxes(b, x.inner, c, ids)
			b.WriteString("}\n")
			continue
		}
		ids[x] = fmt.Sprintf("layer_%d", len(ids))
		l := newLabel(x, c)
		fmt.Fprintf(b, "%s [label=<%s>, fontname=Helvetica, border=0, margin=0];\n", ids[x], dotTable(&l))
	}
}

func dotTable(l *label) string {
	columns := 1
	for _, row := range l.rows {
		columns = max(columns, len(row))
	}
	var b strings.Builder
	b.WriteString(`<table border="0" cellborder="1" bgcolor="black" cellpadding="10">`)
	fmt.Fprintf(&b, `<tr><td colspan="%d" bgcolor="black"><font point-size="16" color="white"><b>%s</b>%s</font></td></tr>`, columns, escape(l.title), escape(l.class))
	for _, row := range l.rows {
		b.WriteString("<tr>")
		for _, c := range row {
			span := ""
			if len(row) == 1 && columns > 1 {
				span = fmt.Sprintf(` colspan="%d"`, columns)
			}
			fill, font := "white", ""
			if c.fill.A > 0 {
				fill, font = svgColor(c.fill), ` color="white"`
			}
			fmt.Fprintf(&b, `<td%s bgcolor="%s"><font point-size="14"%s>`, span, fill, font)
			if c.caption != "" {
				b.WriteString(escape(c.caption) + " ")
			}
			fmt.Fprintf(&b, "<b>%s</b></font></td>", escape(c.value))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</table>")
	return b.String()
}

// dotEdges connects boxes. An edge to or from an expanded model ends at the layer inside that uses or makes the tensor.
func dotEdges(b *bytes.Buffer, d *diagram, ids map[*box]string) {
	drawn := map[string]bool{}
	for _, e := range d.edges {
		from, to := e.from, e.to
		for from.box.inner != nil {
			outputs := from.box.inner.outputs
			from = outputs[min(from.port, len(outputs)-1)]
		}
		for port := e.toPort; to.inner != nil; port = 0 {
			to = to.inner.inputs[min(port, len(to.inner.inputs)-1)]
		}
		arrow := fmt.Sprintf("%s -> %s [penwidth=2];\n", ids[from.box], ids[to])
		if !drawn[arrow] {
			drawn[arrow] = true
			b.WriteString(arrow)
		}
	}
	for _, x := range d.boxes {
		if x.inner != nil {
			dotEdges(b, x.inner, ids)
		}
	}
}
