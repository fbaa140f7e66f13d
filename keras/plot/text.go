package plot

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the fonts
	"io"
	"strings"
	"sync"
	"unicode"

	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// The fonts are Liberation Sans without hinting, which only low-resolution screens need (fonts/README.md): a fifth of
// the size. Their letters are as wide as Arial's and Helvetica's, so text measured with them fits on every machine.
var (
	//go:embed fonts/regular.ttf.gz
	regular []byte
	//go:embed fonts/bold.ttf.gz
	bold []byte
)

// fonts are the two fonts for drawing.
var fonts = sync.OnceValue(func() *font.Cache {
	var all font.Collection
	for _, f := range []struct {
		weight xfont.Weight
		packed []byte
	}{{xfont.WeightNormal, regular}, {xfont.WeightBold, bold}} {
		if face, err := unpackFont(f.packed); err == nil { // which they are
			all = append(all, font.Face{Font: font.Font{Typeface: "Sans", Weight: f.weight}, Face: face})
		}
	}
	return font.NewCache(all)
})

func unpackFont(packed []byte) (*opentype.Font, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	ttf, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	return opentype.Parse(ttf)
}

func face(size float64, bold bool) font.Face {
	f := font.Font{Typeface: "Sans"}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return fonts().Lookup(f, vg.Points(size))
}

// textWidth returns the width of a line of text.
func textWidth(s string, size float64, bold bool) float64 {
	f := face(size, bold)
	return f.Width(printable(s)).Points()
}

// printable replaces characters that would not show or would break a line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}
