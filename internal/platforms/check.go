package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Standard        bool
	Module          *struct{ Main bool }
	Incomplete      bool
	Error           *struct{ Err string }
}

// list returns the packages that match the patterns and all that they import, imported ones first, as a platform sees
// them.
func list(folder, platform string, patterns []string) ([]listed, error) {
	system, processor, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("the platform %q is not a system and a processor, such as linux/arm64", platform)
	}
	command := exec.Command("go", append([]string{
		"list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Standard,Module,Incomplete,Error",
	}, patterns...)...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	var complaints bytes.Buffer
	command.Stderr = &complaints
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list for %s: %w: %s", platform, err, complaints.Bytes())
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// importer finds packages that were checked before.
type importer struct {
	done map[string]*types.Package
	from map[string]string // the importing package's own names
}

func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if real, ok := i.from[path]; ok {
		path = real
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s was not checked", path)
}

// check type-checks the packages that match the patterns for a platform, with all that they import, and returns the
// problems of the module's own. Of other modules' packages it reads the declarations alone.
func check(folder, platform string, patterns ...string) (problems []error, err error) {
	packages, err := list(folder, platform, patterns)
	if err != nil {
		return nil, err
	}
	_, processor, _ := strings.Cut(platform, "/")
	sizes, done := types.SizesFor("gc", processor), map[string]*types.Package{}
	if sizes == nil {
		return nil, fmt.Errorf("the platform %q has a processor that Go does not know", platform)
	}
	for _, p := range packages {
		if p.ImportPath == "unsafe" {
			continue
		}
		own := p.Module != nil && p.Module.Main
		if p.Error != nil && own {
			problems = append(problems, errors.New(p.Error.Err))
			continue
		}
		// Positions of one package are enough, and memory for all would be large.
		positions := token.NewFileSet()
		files, err := parse(positions, p)
		if err != nil {
			return nil, err
		}
		config := types.Config{
			Importer: importer{done, p.ImportMap}, Sizes: sizes, IgnoreFuncBodies: !own, FakeImportC: true,
			Error: func(err error) {
				if own {
					problems = append(problems, err)
				}
			},
		}
		done[p.ImportPath], _ = config.Check(p.ImportPath, positions, files, nil) // its errors went to Error
	}
	return problems, nil
}

func parse(positions *token.FileSet, p listed) (files []*ast.File, err error) {
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(positions, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
