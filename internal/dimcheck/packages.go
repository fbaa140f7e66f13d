package dimcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool // only needed by one that was asked for
}

// Packages checks the packages that the patterns match.
func Packages(dir string, patterns ...string) ([]Finding, error) {
	packages, err := list(dir, patterns...)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, p := range packages {
		files[p.ImportPath] = p.Export
	}
	set := token.NewFileSet()
	from := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	var all []Finding
	for _, p := range packages {
		if p.DepOnly {
			continue
		}
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			parsed = append(parsed, f)
		}
		found, err := Files(set, p.ImportPath, parsed, from)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// list describes packages and all that they need.
func list(dir string, patterns ...string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,DepOnly"}, patterns...)...)
	cmd.Dir = dir
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, problems.String())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := d.Decode(&p); err {
		case nil:
			all = append(all, p)
		case io.EOF:
			return all, nil
		default:
			return nil, err
		}
	}
}
