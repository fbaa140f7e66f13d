package inventory_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/layers"
)

// saysDefault finds what a comment says of the zero value, as in `"" is "bilinear"` and "nil is {0, 1}".
var saysDefault = regexp.MustCompile(`(?:^|[ ;,(])(?:nil|""|0) is (\{[^}]*\}|"[^"]*"|[A-Z][A-Za-z0-9]+|-?[0-9][0-9.e+-]*[0-9]|-?[0-9])(?:$|[;,.) ])`)

// sameDefault compares what a comment says with the default of the tag. known is false for what only words could say.
func sameDefault(said, tag string) (same, known bool) {
	switch {
	case strings.HasPrefix(said, "{"):
		list := "[" + strings.ReplaceAll(strings.Trim(said, "{}"), " ", "") + "]"
		return list == tag || list == "["+tag+"]", true
	case strings.HasPrefix(said, `"`):
		return strings.Trim(said, `"`) == strings.Trim(tag, `\"`), true
	}
	if said[0] >= 'A' && said[0] <= 'Z' { // a constant, or another field
		return layers.SnakeCase(said) == tag || said == tag, true
	}
	a, err := strconv.ParseFloat(said, 64)
	b, wrong := strconv.ParseFloat(tag, 64)
	return a == b, err == nil && wrong == nil
}

// TestCommentsHaveTheDefaultsOfTags: the tag of a field is where its default is written; a comment that says it too
// says the same.
func TestCommentsHaveTheDefaultsOfTags(t *testing.T) {
	same, known := sameDefault(`"nearest"`, "bilinear")
	require.True(t, known && !same, "a wrong comment is seen")
	same, known = sameDefault("1e-3", "0.002")
	require.True(t, known && !same)
	compared := 0
	for _, pkg := range documented {
		entries, err := fs.ReadDir(os.DirFS(filepath.Join(root, pkg)), ".")
		require.NoError(t, err)
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, filepath.Join(root, pkg, e.Name()), nil, parser.ParseComments)
			require.NoError(t, err)
			ast.Inspect(f, func(n ast.Node) bool {
				field, ok := n.(*ast.Field)
				if !ok || field.Tag == nil || len(field.Names) == 0 {
					return true
				}
				raw, err := strconv.Unquote(field.Tag.Value)
				require.NoError(t, err)
				_, tag, has := strings.Cut(reflect.StructTag(raw).Get("keras"), "default=")
				said := saysDefault.FindStringSubmatch(strings.TrimSpace(field.Comment.Text()))
				if !has || tag == "null" || said == nil {
					return true
				}
				same, known := sameDefault(said[1], tag)
				if known {
					compared++
					assert.True(t, same, "%s: field %s: the tag has the default %s, the comment says %s", set.Position(field.Pos()), field.Names[0], tag, said[1])
				}
				return true
			})
		}
	}
	require.Greater(t, compared, 200)
}
