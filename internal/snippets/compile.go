package snippets

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// imports are the packages that blocks may take for granted.
var imports = map[string]string{"context": "context", "errors": "errors", "fmt": "fmt", "http": "net/http", "io": "io", "log": "log", "os": "os", "time": "time"}

func init() {
	for _, path := range []string{"callbacks", "data", "data/datasets", "distribute", "distribute/cluster", "distribute/coordinator", "distribute/monitor", "distribute/multiworker", "distribute/parameterserver", "distribute/partitioners", "distribute/tpu", "keras", "keras/applications", "keras/distribution", "keras/estimator", "keras/monitoring",
		"keras/onnx", "keras/ops", "keras/plot", "keras/saving", "kernels", "kernels/ir", "layers", "layers/initializers", "layers/regularizers", "layers/constraints", "losses", "metrics",
		"optimizers", "optimizers/schedules"} {
		imports[path[strings.LastIndex(path, "/")+1:]] = "github.com/gokeras/gokeras/" + path
	}
}

// elided is how pages leave the body of a function out.
const elided, stub = "{ ... }", `{ panic("left out") }`

// part is one file of a page's package.
type part struct {
	block Block
	code  string // without package and imports
	whole bool   // a program of its own
	run   string // the call that runs it
}

// parts turns the blocks of Go of a page into files. A block that it does not know how to treat is an error.
func parts(p Page) ([]part, error) {
	var out []part
	for _, b := range p.Blocks {
		if b.Language != "go" {
			continue
		}
		text := strings.ReplaceAll(b.Text, elided, stub)
		at := fmt.Sprintf("//line %s:%d\n", b.Page, b.Line)
		kind, rest, _ := strings.Cut(b.How, " ")
		switch kind {
		case "fragment":
			if rest == "" {
				return nil, fmt.Errorf("%v: the comment must say why the block is a fragment", b)
			}
		case "in":
			signature, uses := cutUses(rest)
			code, err := within(signature, at+text, uses)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", b, err)
			}
			out = append(out, part{block: b, code: code})
		case "each":
			_, uses := cutUses(rest)
			for i, line := range strings.Split(text, "\n") {
				if strings.TrimSpace(line) == "" {
					continue
				}
				var there []string
				for _, name := range uses {
					if strings.Contains(line, name) {
						there = append(there, name)
					}
				}
				code, err := within("func()", fmt.Sprintf("//line %s:%d\n%s", b.Page, b.Line+i, line), there)
				if err != nil {
					return nil, fmt.Errorf("%s:%d: %w", b.Page, b.Line+i, err)
				}
				out = append(out, part{block: b, code: code})
			}
		case "", "run":
			whole := strings.HasPrefix(strings.TrimSpace(text), "package ")
			if _, err := parser.ParseFile(token.NewFileSet(), "", inPackage(text, whole), 0); err != nil {
				return nil, fmt.Errorf("%v: neither a program nor declarations (%w); say in a comment above it how to treat the block: \"in func(...)\", \"each line\", \"fragment REASON\"", b, err)
			}
			out = append(out, part{block: b, code: at + text, whole: whole, run: rest})
		default:
			return nil, fmt.Errorf("%v: the comment %q is not known", b, b.How)
		}
	}
	return out, nil
}

func inPackage(text string, whole bool) string {
	if whole {
		return text
	}
	return "package page\n" + text
}

// cutUses separates the names that a block leaves unused.
func cutUses(text string) (before string, uses []string) {
	before, names, found := strings.Cut(text, "; uses ")
	if !found {
		return text, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		uses = append(uses, strings.TrimSpace(name))
	}
	return before, uses
}

// within makes a function of statements.
func within(signature, statements string, uses []string) (string, error) {
	if !strings.HasPrefix(signature, "func(") {
		return "", fmt.Errorf("%q is no type of a function", signature)
	}
	end := ""
	for _, name := range uses {
		end += "\n_ = " + name
	}
	if strings.HasSuffix(signature, "error") {
		end += "\nreturn nil"
	}
	code := fmt.Sprintf("var _ = %s {\n%s%s\n}", signature, statements, end)
	_, err := parser.ParseFile(token.NewFileSet(), "", "package page\n"+code, 0)
	return code, err
}

// file returns the text of a part as a file of a package with the imports that it needs.
func (p part) file(name string) (string, error) {
	if p.whole {
		return p.code, nil
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", "package "+name+"\n"+p.code, 0)
	if err != nil {
		return "", err
	}
	unresolved := map[*ast.Ident]bool{}
	for _, id := range f.Unresolved {
		unresolved[id] = true
	}
	var needed []string
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && unresolved[id] {
				if path, known := imports[id.Name]; known && ast.IsExported(s.Sel.Name) && !slices.Contains(needed, path) {
					needed = append(needed, path)
				}
			}
		}
		return true
	})
	slices.Sort(needed)
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\n", name)
	for _, path := range needed {
		fmt.Fprintf(&b, "import %q\n", path)
	}
	return b.String() + "\n" + p.code + "\n", nil
}

// Files returns the packages that the blocks of a page make: files by their path below the page's folder. A program of
// its own has a folder of its own.
func Files(p Page) (map[string]string, error) {
	list, err := parts(p)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	name, call := "page", ""
	for _, part := range list {
		if part.run != "" {
			name, call = "main", part.run
		}
	}
	for i, part := range list {
		text, err := part.file(name)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", part.block, err)
		}
		if part.whole {
			out[fmt.Sprintf("program%d/main.go", part.block.Line)] = text
		} else {
			out[fmt.Sprintf("page/block%d.go", i)] = text
		}
	}
	extra := p.With
	if call != "" {
		extra = append(slices.Clone(extra), "func main() { if err := "+call+"; err != nil { panic(err) } }")
	}
	for i, with := range extra {
		if out[fmt.Sprintf("page/with%d.go", i)], err = (part{code: with}).file(name); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", p.Name, with, err)
		}
	}
	return out, nil
}
