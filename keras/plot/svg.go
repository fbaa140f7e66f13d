package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"io"
	"strconv"
	"strings"
)

// writeSVG writes a scene in the SVG format, version 1.1. Each line of text specifies its width, so that it fits its
// box even in another font.
func writeSVG(w io.Writer, s *scene) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%spt\" height=\"%spt\" viewBox=\"0 0 %[1]s %[2]s\" font-family=\"'Liberation Sans', Arial, Helvetica, sans-serif\">\n", number1(s.w), number1(s.h))
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(s.title))
	for _, item := range s.items {
		switch v := item.(type) {
		case shape:
			svgShape(&b, v)
		case text:
			weight := ""
			if v.bold {
				weight = ` font-weight="bold"`
			}
			fmt.Fprintf(&b, "<text x=\"%s\" y=\"%s\" font-size=\"%s\"%s fill=\"%s\" textLength=\"%s\" xml:space=\"preserve\">%s</text>\n",
				number1(v.x), number1(v.y), number1(v.size), weight, svgColor(v.color), number1(textWidth(v.s, v.size, v.bold)), escape(v.s))
		}
	}
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

func svgShape(b *bytes.Buffer, v shape) {
	b.WriteString(`<path d="`)
	for i, s := range v.path {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte(s.kind)
		n := map[byte]int{'M': 1, 'L': 1, 'C': 3}[s.kind]
		for j, p := range s.p[:n] {
			if j > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(number1(p.x) + "," + number1(p.y))
		}
	}
	fmt.Fprintf(b, `" fill="%s"`, svgColor(v.fill))
	if v.stroke.A > 0 {
		fmt.Fprintf(b, ` stroke="%s" stroke-width="%s"`, svgColor(v.stroke), number1(v.width))
	}
	if v.dashed {
		b.WriteString(` stroke-dasharray="5,4"`)
	}
	b.WriteString("/>\n")
}

func svgColor(c color.NRGBA) string {
	if c.A == 0 {
		return "none"
	}
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

// number1 formats a length with at most two decimals.
func number1(v float64) string {
	text := strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0")
	if text = strings.TrimSuffix(text, "."); text == "-0" {
		return "0"
	}
	return text
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(printable(s))) // writing to a Builder cannot fail
	return b.String()
}
