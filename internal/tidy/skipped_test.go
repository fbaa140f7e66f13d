package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// skipped is a call of Skip: what it says, and the function that it stands in.
type skipped struct {
	where, function, text string
	literal, short        bool // the text is written there; the function asks testing.Short
}

// skips finds the calls in a file.
func skips(t *testing.T, name, text string) (found []skipped) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, 0)
	require.NoError(t, err)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		short, first := false, len(found)
		ast.Inspect(f.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			short = short || s.Sel.Name == "Short"
			if s.Sel.Name == "SkipNow" || (s.Sel.Name == "Skip" || s.Sel.Name == "Skipf") && isTest(s.X) {
				found = append(found, skipped{where: set.Position(n.Pos()).String(), function: f.Name.Name, text: words(call), literal: len(call.Args) == 0 || words(call) != ""})
			}
			return true
		})
		for i := range found[first:] {
			found[first+i].short = short
		}
	}
	return found
}

// isTest reports whether an expression has one of the names that tests give to their *testing.T.
func isTest(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && (id.Name == "t" || id.Name == "b" || id.Name == "tb" || id.Name == "f")
}

// words are the strings that a call is given as they are.
func words(call *ast.CallExpr) (text string) {
	for _, a := range call.Args {
		if l, ok := a.(*ast.BasicLit); ok && l.Kind == token.STRING {
			part, _ := strconv.Unquote(l.Value)
			text += part
		}
	}
	return text
}

var (
	makes     = regexp.MustCompile(`\bmake ([a-z0-9]+(?:-[a-z0-9]+)*)`)
	scripts   = regexp.MustCompile(`internal/[a-z-]+\.sh`)
	variables = regexp.MustCompile(`GOKERAS_[A-Z_]+`)
	targets   = regexp.MustCompile(`(?m)^([a-z0-9-]+):`)
	emulated  = regexp.MustCompile(`(?m)^run \S+ \./(\S+) ['"]?([^'"\s]+)`)
)

// promises is what runs tests that others skip: the targets of the Makefile, the scripts, and what the emulator of
// matrix registers runs of each package.
type promises struct {
	targets  map[string]bool
	scripts  string // all of them
	emulator map[string]string
}

func (p *promises) emulates(folder, test string) bool {
	pattern, ok := p.emulator[folder]
	return ok && regexp.MustCompile(pattern).MatchString(test)
}

// broken says what is wrong with what a call says; tests are those that run into it.
func (p *promises) broken(s skipped, folder string, tests []string) string {
	if s.literal && len(strings.Fields(s.text)) < 3 {
		return "does not say what is missing"
	}
	if strings.Contains(s.text, "-short") && !s.short {
		return "speaks of -short, which its function does not ask for"
	}
	for _, m := range makes.FindAllStringSubmatch(s.text, -1) {
		if !p.targets[m[1]] {
			return "names make " + m[1] + ", which the Makefile does not have"
		}
	}
	for _, m := range variables.FindAllString(s.text, -1) {
		if !strings.Contains(p.scripts, m) {
			return "names " + m + ", which no script and no target sets"
		}
	}
	if strings.Contains(s.text, "make amx runs") || strings.Contains(s.text, "(make amx") || strings.Contains(s.text, "internal/test-amx.sh runs") {
		for _, test := range tests {
			if !p.emulates(folder, test) {
				return "says that " + test + " is run in an emulator, which internal/test-amx.sh does not do"
			}
		}
	}
	return ""
}

// Every test that is skipped says what is missing, and what it names as the place where it runs does run it.
func TestSkippedTestsRunSomewhere(t *testing.T) {
	p := readPromises(t)
	found := map[string][]skipped{} // of each folder
	callers := map[string]string{}  // the text of its tests
	for _, name := range files(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "internal/tidy/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		if strings.HasSuffix(name, "_test.go") {
			callers[path.Dir(name)] += string(text)
		}
		if strings.Contains(string(text), ".Skip") {
			found[path.Dir(name)] = append(found[path.Dir(name)], skips(t, name, string(text))...)
		}
	}
	seen := 0
	for folder, all := range found {
		for _, s := range all {
			seen++
			for _, m := range scripts.FindAllString(s.text, -1) {
				require.FileExists(t, filepath.Join(root, m), s.where)
			}
			if wrong := p.broken(s, folder, testsOf(callers[folder], s.function)); wrong != "" {
				t.Errorf("%s: %q %s", s.where, s.text, wrong)
			}
		}
	}
	require.Greater(t, seen, 150)
}

func readPromises(t *testing.T) *promises {
	p := &promises{targets: map[string]bool{}, emulator: map[string]string{}}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		return string(text)
	}
	p.scripts = read("Makefile") + read(".ci/run")
	for _, m := range targets.FindAllStringSubmatch(p.scripts, -1) {
		p.targets[m[1]] = true
	}
	for _, pattern := range []string{"internal/*.sh", "internal/*/*.sh"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, name := range names {
			p.scripts += read(strings.TrimPrefix(name, root+string(filepath.Separator)))
		}
	}
	for _, m := range emulated.FindAllStringSubmatch(read("internal/test-amx.sh"), -1) {
		p.emulator[m[1]] = m[2]
	}
	require.NotEmpty(t, p.emulator)
	return p
}

var tests = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testsOf returns the tests in a text that a function is, or that call it.
func testsOf(text, function string) (names []string) {
	if strings.HasPrefix(function, "Test") {
		return []string{function}
	}
	all := tests.FindAllStringSubmatchIndex(text, -1)
	for i, m := range all {
		end := len(text)
		if i+1 < len(all) {
			end = all[i+1][0]
		}
		if strings.Contains(text[m[1]:end], function+"(") {
			names = append(names, text[m[2]:m[3]])
		}
	}
	return names
}

func TestSkips(t *testing.T) {
	const head = "package a\nfunc TestX(t *testing.T) {\n"
	p := &promises{targets: map[string]bool{"amx": true, "gpu": true}, scripts: "export GOKERAS_GPU=1", emulator: map[string]string{"a": "Half|.Pairs"}}
	for body, want := range map[string]string{
		`t.SkipNow()`:                           "does not say",
		`t.Skip("later")`:                       "does not say",
		`t.Skip("takes long: not with -short")`: "does not ask for",
		`t.Skip("needs a GPU (make gpus)")`:     "the Makefile does not have",
		`t.Skip("GOKERAS_TPU names no device")`: "no target sets",
		`t.Skip("this processor has none; make amx runs it in an emulator")`: "does not do",
		`if testing.Short() { t.Skip("takes long: not with -short") }`:       "",
		`t.Skip("GOKERAS_GPU is not set (make gpu)")`:                        "",
		`t.Skip(err)`: "",
	} {
		found := skips(t, "a_test.go", head+body+"\n}")
		require.Len(t, found, 1, body)
		wrong := p.broken(found[0], "a", testsOf("", found[0].function))
		require.Contains(t, wrong, want, body)
		require.Equal(t, want == "", wrong == "", body)
	}
	require.True(t, p.emulates("a", "TestHalfRows") && p.emulates("a", "TestPairs") && !p.emulates("b", "TestPairs"))
	require.Equal(t, []string{"TestB"}, testsOf("func TestA(t) {}\nfunc TestB(t) { needed(t) }\n", "needed"))
}
