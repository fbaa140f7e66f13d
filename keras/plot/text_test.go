package plot

import (
	"testing"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"github.com/stretchr/testify/require"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Every character of Liberation Sans is there, with its outline, its width and its kerning.
func TestFontsAreLiberationSans(t *testing.T) {
	for _, f := range []struct {
		packed, original []byte
	}{{regular, liberationsansregular.TTF}, {bold, liberationsansbold.TTF}} {
		got, err := unpackFont(f.packed)
		require.NoError(t, err)
		want, err := opentype.Parse(f.original)
		require.NoError(t, err)
		var a, b sfnt.Buffer
		compared := 0
		var previous [2]sfnt.GlyphIndex
		for r := rune(' '); r < 0x10000; r++ {
			i, err := got.GlyphIndex(&a, r)
			require.NoError(t, err)
			j, err := want.GlyphIndex(&b, r)
			require.NoError(t, err)
			require.Equal(t, j == 0, i == 0, "%U", r)
			if i == 0 {
				continue
			}
			compared++
			outline, err := got.LoadGlyph(&a, i, fixed.I(1000), nil)
			require.NoError(t, err)
			expected, err := want.LoadGlyph(&b, j, fixed.I(1000), nil)
			require.NoError(t, err)
			require.Equal(t, expected, outline, "%U", r)
			width, err := got.GlyphAdvance(&a, i, fixed.I(1000), xfont.HintingNone)
			require.NoError(t, err)
			expectedWidth, err := want.GlyphAdvance(&b, j, fixed.I(1000), xfont.HintingNone)
			require.NoError(t, err)
			require.Equal(t, expectedWidth, width, "%U", r)
			for _, pair := range [][2][2]sfnt.GlyphIndex{{previous, {i, j}}, {glyphs(t, got, want, 'A'), {i, j}}, {{i, j}, glyphs(t, got, want, 'V')}} {
				kern, err := got.Kern(&a, pair[0][0], pair[1][0], fixed.I(1000), xfont.HintingNone)
				if err != nil {
					kern = 0
				}
				expectedKern, err := want.Kern(&b, pair[0][1], pair[1][1], fixed.I(1000), xfont.HintingNone)
				if err != nil {
					expectedKern = 0
				}
				require.Equal(t, expectedKern, kern, "%U", r)
			}
			previous = [2]sfnt.GlyphIndex{i, j}
		}
		require.Greater(t, compared, 2000)
	}
}

func glyphs(t *testing.T, a, b *opentype.Font, r rune) [2]sfnt.GlyphIndex {
	var buffer sfnt.Buffer
	i, err := a.GlyphIndex(&buffer, r)
	require.NoError(t, err)
	j, err := b.GlyphIndex(&buffer, r)
	require.NoError(t, err)
	return [2]sfnt.GlyphIndex{i, j}
}
