package inventory

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// packages are the folders of the packages whose names users write.
var packages = []string{
	"keras", "keras/applications", "keras/boundingboxes", "keras/distillation", "keras/features", "keras/ops", "keras/plot", "keras/saving", "layers", "layers/activations", "layers/constraints", "layers/initializers", "layers/quantizers", "layers/regularizers", "losses",
	"metrics", "optimizers", "optimizers/schedules", "callbacks", "data", "data/datasets", "distribute", "keras/distribution", "kernels",
}

// exported returns the exported names of the packages: "layers.Dense", "keras.Model.Fit".
func exported(root string) (map[string]bool, error) {
	names := map[string]bool{}
	for _, folder := range packages {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				return nil, fmt.Errorf("inventory: %w", err)
			}
			for _, d := range f.Decls {
				collect(names, f.Name.Name, d)
			}
		}
	}
	return names, nil
}

func collect(names map[string]bool, pkg string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := pkg + "." + d.Name.Name
		if d.Recv != nil {
			name = pkg + "." + receiver(d.Recv.List[0].Type) + "." + d.Name.Name
		}
		names[name] = names[name] || d.Name.IsExported()
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names[pkg+"."+s.Name.Name] = s.Name.IsExported()
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[pkg+"."+n.Name] = n.IsExported()
				}
			}
		}
	}
}

// receiver returns the name of a method's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
