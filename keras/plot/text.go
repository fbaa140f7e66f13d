package plot

import (
	"strings"
	"sync"
	"unicode"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// fonts are the two of the Liberation fonts that are drawn with; the collection of gonum's plot has ten more, which are
// four megabytes. Their letters are as wide as Arial's and Helvetica's, so text that was measured with them fits on
// every machine.
var fonts = sync.OnceValue(func() *font.Cache {
	var all font.Collection
	for _, f := range []struct {
		weight xfont.Weight
		ttf    []byte
	}{{xfont.WeightNormal, liberationsansregular.TTF}, {xfont.WeightBold, liberationsansbold.TTF}} {
		if face, err := opentype.Parse(f.ttf); err == nil { // which they are
			all = append(all, font.Face{Font: font.Font{Typeface: "Liberation", Variant: "Sans", Weight: f.weight}, Face: face})
		}
	}
	return font.NewCache(all)
})

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
