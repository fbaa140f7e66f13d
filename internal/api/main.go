// Command api writes the exported API as sorted text, one line for each exported name. "make check" compares it with
// docs/api.txt, so a change of the API is visible in review as a change of that file.
//
//	go run ./internal/api > docs/api.txt
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	lines, err := list(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
	for _, line := range lines {
		fmt.Println(line)
	}
}

// list returns the API of all packages below root that programs elsewhere can import.
func list(root string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name := d.Name()
		if path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || slices.Contains([]string{"internal", "testdata", "cmd", "examples", "build"}, name)) {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		lines, err := packageAPI(path)
		for _, line := range lines {
			out = append(out, filepath.ToSlash(rel)+": "+line)
		}
		return err
	})
	slices.Sort(out)
	return slices.Compact(out), err
}

// packageAPI returns the exported API of the package in a folder, of all its files, whatever system they are for.
func packageAPI(folder string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	l := lister{embeds: map[string][]string{}, methods: map[string][]member{}, fields: map[string][]member{}}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if f.Name.Name == "main" {
			continue
		}
		l.set = set
		for _, d := range f.Decls {
			l.declaration(d)
		}
	}
	for name := range l.embeds {
		if ast.IsExported(name) {
			l.promoted(name)
		}
	}
	return l.lines, nil
}

type lister struct {
	set   *token.FileSet
	lines []string

	// By the name of a type, exported or not:
	embeds          map[string][]string // the types that a struct embeds
	methods, fields map[string][]member // what is exported
}

// member is a method or a field, with its signature or type.
type member struct{ name, text string }

func (l *lister) add(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// text is a node on one line.
func (l *lister) text(n any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, l.set, n); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func (l *lister) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		l.function(d)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				l.typ(s)
			case *ast.ValueSpec:
				l.values(d.Tok, s)
			}
		}
	}
}

func (l *lister) function(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	signature := strings.TrimPrefix(l.text(d.Type), "func")
	if d.Recv == nil {
		l.add("func %s%s", d.Name.Name, signature)
		return
	}
	receiver := l.text(d.Recv.List[0].Type)
	name := plainName(receiver)
	l.methods[name] = append(l.methods[name], member{d.Name.Name, signature})
	if ast.IsExported(name) {
		l.add("method (%s) %s%s", receiver, d.Name.Name, signature)
	}
}

// values lists variables and constants; a constant with its value where it has one of its own.
func (l *lister) values(kind token.Token, s *ast.ValueSpec) {
	for i, name := range s.Names {
		if !name.IsExported() {
			continue
		}
		line := kind.String() + " " + name.Name
		if s.Type != nil {
			line += " " + l.text(s.Type)
		}
		if kind == token.CONST && i < len(s.Values) {
			line += " = " + l.text(s.Values[i])
		}
		l.add("%s", line)
	}
}

// plainName is the name of a type without pointer, package and type parameters.
func plainName(typ string) string {
	name, _, _ := strings.Cut(typ, "[")
	return name[strings.LastIndexAny(name, ".*")+1:]
}

func (l *lister) typ(s *ast.TypeSpec) {
	if t, ok := s.Type.(*ast.StructType); ok {
		l.embeds[s.Name.Name] = nil
		for _, f := range t.Fields.List {
			l.member(s.Name.Name, f)
		}
	}
	if !s.Name.IsExported() {
		return
	}
	name := s.Name.Name
	if s.TypeParams != nil {
		var list []string
		for _, f := range s.TypeParams.List {
			list = append(list, l.text(f.Names[0])+" "+l.text(f.Type))
		}
		name += "[" + strings.Join(list, ", ") + "]"
	}
	switch t := s.Type.(type) {
	case *ast.StructType:
		l.add("type %s struct", name)
		for _, f := range t.Fields.List {
			l.field(name, f)
		}
	case *ast.InterfaceType:
		l.add("type %s interface", name)
		for _, f := range t.Methods.List {
			if len(f.Names) == 0 {
				l.add("type %s interface, %s", name, l.text(f.Type))
			} else if f.Names[0].IsExported() {
				l.add("type %s interface, %s%s", name, f.Names[0].Name, strings.TrimPrefix(l.text(f.Type), "func"))
			} else {
				l.add("type %s interface, methods that are not exported", name)
			}
		}
	default:
		sign := " "
		if s.Assign.IsValid() {
			sign = " = "
		}
		l.add("type %s%s%s", name, sign, l.text(s.Type))
	}
}

// member notes what promoted has to know of a field of a struct.
func (l *lister) member(of string, f *ast.Field) {
	if typ := l.text(f.Type); len(f.Names) == 0 && !strings.Contains(typ, ".") { // of the same package
		l.embeds[of] = append(l.embeds[of], plainName(typ))
	}
	for _, name := range f.Names {
		if name.IsExported() {
			l.fields[of] = append(l.fields[of], member{name.Name, l.text(f.Type)})
		}
	}
}

// promoted lists the methods and fields that a struct has of the types of its package that it embeds and that are not
// exported. As in Go, what is less deep hides what is deeper, and two of one name at the same depth hide each other.
// What comes from an exported type is listed there.
func (l *lister) promoted(of string) {
	hidden, seen := map[string]bool{}, map[string]bool{}
	for level := []string{of}; len(level) > 0; {
		var next, lines []string
		count := map[string]int{}
		for _, t := range level {
			listed := t != of && !ast.IsExported(t)
			for _, m := range l.methods[t] {
				if count[m.name]++; listed && !hidden[m.name] {
					lines = append(lines, m.name+"\x00"+fmt.Sprintf("method (*%s) %s%s", of, m.name, m.text))
				}
			}
			for _, f := range l.fields[t] {
				if count[f.name]++; listed && !hidden[f.name] {
					lines = append(lines, f.name+"\x00"+fmt.Sprintf("type %s struct, promoted %s %s", of, f.name, f.text))
				}
			}
			for _, e := range l.embeds[t] {
				if listed && ast.IsExported(e) {
					l.add("type %s struct, promoted %s", of, e)
				}
			}
			if !seen[t] {
				next = append(next, l.embeds[t]...)
			}
			seen[t] = true
		}
		for _, line := range lines {
			if name, text, _ := strings.Cut(line, "\x00"); count[name] == 1 {
				l.add("%s", text)
			}
		}
		for name := range count {
			hidden[name] = true
		}
		level = next
	}
}

// field lists the fields of a struct with the names and defaults that they have in files.
func (l *lister) field(of string, f *ast.Field) {
	tag := ""
	if f.Tag != nil {
		tag = " " + f.Tag.Value
	}
	if len(f.Names) == 0 {
		embedded := l.text(f.Type)
		if ast.IsExported(plainName(embedded)) {
			l.add("type %s struct, embedded %s%s", of, embedded, tag)
		}
		return
	}
	for _, name := range f.Names {
		if name.IsExported() {
			l.add("type %s struct, %s %s%s", of, name.Name, l.text(f.Type), tag)
		}
	}
}
