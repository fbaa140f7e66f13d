package snippets

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// pages reads the documentation.
func pages(t *testing.T) (out []Page) {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		require.NoError(t, err)
		names = append(names, found...)
	}
	for _, path := range names {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		p, err := Parse(filepath.ToSlash(name), string(text))
		require.NoError(t, err)
		out = append(out, p)
	}
	require.Greater(t, len(out), 5)
	return out
}

// compile builds the packages of pages, in one go, and puts programs into a folder.
func compile(t *testing.T, list []Page, into string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	replace, folders, programs := map[string]string{}, map[string]bool{}, false
	for _, p := range list {
		files, err := Files(p)
		if err != nil {
			return "", err
		}
		for name, text := range files {
			// The folders are there for the compiler alone: nothing is written into the tree.
			short := strings.NewReplacer("/", "_", ".md", "").Replace(p.Name) + strings.SplitN(name, "/", 2)[0]
			path := filepath.Join("internal", "snippets", "pages", strings.ToLower(short), filepath.Base(name))
			real := filepath.Join(dir, strings.ReplaceAll(path, string(filepath.Separator), "_"))
			programs = programs || strings.HasPrefix(text, "package main")
			require.NoError(t, os.WriteFile(real, []byte(text), 0o666))
			replace[filepath.Join(top, path)] = real
			folders["./"+filepath.ToSlash(filepath.Dir(path))] = true
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	description := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(description, overlay, 0o666))
	arguments := []string{"build", "-overlay", description}
	if programs {
		arguments = append(arguments, "-o", into+string(filepath.Separator))
	}
	for folder := range folders {
		arguments = append(arguments, folder)
	}
	command := exec.Command("go", arguments...)
	command.Dir = top
	output, err := command.CombinedOutput()
	return string(output), err
}

// Every block of Go in the documentation compiles, and what is a program runs.
func TestBlocksOfGo(t *testing.T) {
	list := pages(t)
	blocks := 0
	for _, p := range list {
		for _, b := range p.Blocks {
			switch b.Language {
			case "go":
				blocks++
			case "json":
				require.True(t, json.Valid([]byte(b.Text)), "%v", b)
			case "", "sh", "text", "mermaid":
			default:
				t.Errorf("%v: nobody knows how to check blocks in %q", b, b.Language)
			}
		}
	}
	require.Greater(t, blocks, 10)
	programs := t.TempDir()
	output, err := compile(t, list, programs)
	require.NoError(t, err, output)
	made, err := filepath.Glob(filepath.Join(programs, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, made, "the README has a program")
	if testing.Short() {
		t.Skip("compiled; the programs run without -short")
	}
	for _, program := range made {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		command := exec.CommandContext(ctx, program)
		command.Dir = t.TempDir()
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s: %s", filepath.Base(program), output)
		require.NotEmpty(t, output)
	}
}

// The commands in the documentation exist, with their flags.
func TestCommands(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "keras")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	build := exec.Command("go", "build", "-o", binary, "./cmd/keras")
	build.Dir = root
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	c := Checker{Targets: map[string]bool{}, Exists: func(path string) bool {
		_, err := os.Stat(filepath.Join(root, path))
		return err == nil
	}}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(string(makefile), -1) {
		c.Targets[m[1]] = true
	}
	known := map[string]string{}
	c.Help = func(command string) (string, error) {
		if text, ok := known[command]; ok {
			return text, nil
		}
		arguments := []string{command, "-h"}
		if command == "" {
			arguments = arguments[1:]
		}
		text, err := exec.Command(binary, arguments...).CombinedOutput()
		known[command] = string(text)
		return string(text), err
	}
	commands := 0
	check := func(b Block, words []string) {
		commands++
		if err := c.Check(words); err != nil {
			t.Errorf("%v: %s: %v", b, strings.Join(words, " "), err)
		}
	}
	for _, p := range pages(t) {
		for _, b := range p.Blocks {
			if b.Language != "sh" && b.Language != "" {
				continue
			}
			list, err := Shell(b)
			require.NoError(t, err)
			for _, words := range list {
				check(b, words)
			}
		}
		for _, b := range p.Inline {
			words := strings.Fields(b.Text)
			if len(words) < 2 || words[0] != "keras" && words[0] != "make" && words[0] != "go" {
				continue
			}
			list, err := Shell(Block{Page: b.Page, Line: b.Line, Language: "sh", Text: strings.Join(words, " ")})
			require.NoError(t, err)
			for _, words := range list {
				check(b, words)
			}
		}
	}
	require.Greater(t, commands, 30)
	for _, cheap := range [][]string{{"devices"}, {"secret"}, {"help"}} {
		output, err := exec.Command(binary, cheap...).CombinedOutput()
		require.NoError(t, err, string(output))
	}
}

// What the checks are for: they fail.
func TestChecksFail(t *testing.T) {
	parse := func(text string) Page {
		p, err := Parse("page.md", text)
		require.NoError(t, err)
		return p
	}
	_, err := Files(parse("```go\nx := 1\n```\n"))
	require.ErrorContains(t, err, "page.md:2: neither a program nor declarations")
	_, err = Files(parse("<!-- snippet: fragment -->\n```go\nx := 1\n```\n"))
	require.ErrorContains(t, err, "why the block is a fragment")
	_, err = Files(parse("<!-- snippet: guess -->\n```go\nx := 1\n```\n"))
	require.ErrorContains(t, err, `"guess" is not known`)
	_, err = Parse("page.md", "<!-- snippet: fragment of a list -->\ntext\n")
	require.ErrorContains(t, err, "a block of code must follow")
	_, err = Parse("page.md", "```go\nx := 1\n")
	require.ErrorContains(t, err, "has no end")
	_, err = Parse("page.md", "```go\nx := 1\n\n```go\ny := 1\n```\n")
	require.ErrorContains(t, err, "page.md:1: the block has no end")
	for _, fence := range []string{"```go main.go", "~~~go", "```{.go}  x"} {
		_, err = Parse("page.md", "text\n\n"+fence+"\nx := 1\n```\n")
		require.ErrorContains(t, err, "page.md:3: expected ``` and the language alone")
	}
	files, err := Files(parse("<!-- snippet: fragment of a list -->\n```go\nx := 1,\n```\n"))
	require.NoError(t, err)
	require.Empty(t, files)
	output, err := compile(t, []Page{parse("text\n\n<!-- snippet: in func() error -->\n```go\nlayers.NoSuchLayer()\n```\n")}, t.TempDir())
	require.Error(t, err)
	require.Contains(t, output, "page.md:5")
	require.Contains(t, output, "NoSuchLayer")
	_, err = Shell(Block{Page: "page.md", Line: 3, Language: "sh", Text: "keras fit x\npython x.py"})
	require.ErrorContains(t, err, `page.md:4: "python" is no command`)
	_, err = Shell(Block{Page: "page.md", Line: 3, Language: "sh", Text: "kubectl apply", How: "fragment"})
	require.ErrorContains(t, err, `the comment "fragment" is not for commands`)
	words, err := Shell(Block{Page: "page.md", Line: 3, Language: "sh", Text: "export A=\"x y\"\nB='{\"a\": 1}' ./train\nC='d e' make test # all"})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"make", "test"}}, words)
	c := Checker{Targets: map[string]bool{"test": true}, Exists: func(path string) bool { return path == "./keras" }, Help: func(string) (string, error) {
		return "Commands:\n  fit   Train\n  launch   Start\n\nFlags:\n  -n, --workers int   of the job, unlike --epoch\n      --epochs int\n", nil
	}}
	for words, wrong := range map[string]string{
		"keras fit --epochs 3": "", "keras fit --epochs=3": "", "keras launch -n 3 -- keras fit --epochs 3": "", "make test RACE=1": "", "go test ./keras/...": "",
		"keras fly": `no command "fly"`, "keras fit --epoch 3": "no flag --epoch", "keras launch -n 3 -- keras fit --x 1": "no flag --x", "make tea": `no target "tea"`,
		"go test ./none": "does not exist", "go get github.com/gokeras/gokeras/none@latest": "does not exist",
	} {
		if err := c.Check(strings.Fields(words)); wrong == "" {
			require.NoError(t, err, words)
		} else {
			require.ErrorContains(t, err, wrong, words)
		}
	}
}
