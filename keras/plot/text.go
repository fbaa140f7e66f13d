package plot

import (
	"strings"
	"sync"
	"unicode"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"
)

// fonts are the Liberation fonts that come with gonum's plot. Their letters are as wide as Arial's and Helvetica's, so text that
// was measured with them fits on every machine.
var fonts = sync.OnceValue(func() *font.Cache { return font.NewCache(liberation.Collection()) })

func face(size float64, bold bool) font.Face {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return fonts().Lookup(f, vg.Points(size))
}

// textWidth measures a line of text.
func textWidth(s string, size float64, bold bool) float64 {
	f := face(size, bold)
	return f.Width(printable(s)).Points()
}

// printable replaces what would not show or would break a line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}
