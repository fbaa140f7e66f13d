// Package inventory lists the public symbols of Keras with their counterparts here: the source of docs/keras.md.
package inventory

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/activations"
	"github.com/gokeras/gokeras/layers/constraints"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/layers/regularizers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

// Symbol is a public name of Keras.
type Symbol struct {
	Module  string // "layers"; "" for keras itself
	Name    string
	Kind    string // class, function or module
	AliasOf string `json:"alias_of"`
}

// String returns the full name, keras.layers.Dense.
func (s Symbol) String() string {
	if s.Module == "" {
		return "keras." + s.Name
	}
	return "keras." + s.Module + "." + s.Name
}

// Row is a symbol of Keras with its counterpart.
type Row struct {
	Symbol
	Ours       string // a Go name, or a name given as text such as `"relu"`; "" where there is nothing
	Difference string // or why there is nothing
}

//go:embed testdata/symbols.json
var symbols []byte

// Rows lists all symbols in Keras's order. root is the folder of the module, whose source says which Go names exist.
func Rows(root string) ([]Row, error) {
	var all []Symbol
	if err := json.Unmarshal(symbols, &all); err != nil {
		return nil, err
	}
	names, err := exported(root)
	if err != nil {
		return nil, err
	}
	operations := operationEntries()
	var rows []Row
	used := map[string]bool{}
	for _, s := range all {
		r := Row{Symbol: s}
		key := strings.TrimPrefix(s.String(), "keras.")
		if e, ok := explicit[key]; ok {
			used[key] = true
			r.Ours, r.Difference = e.ours, e.difference
			for _, name := range strings.Split(e.ours, ", ") {
				if plain := strings.TrimSuffix(name, "()"); e.ours != "" && !strings.HasPrefix(plain, `"`) && !names[plain] {
					return nil, fmt.Errorf("inventory: %s stands for %s, but there is no such name", name, s)
				}
			}
		} else if e, ok := operations[key]; ok {
			r.Ours, r.Difference = e.ours, e.difference
		} else {
			r.Ours = derived(s, names)
		}
		rows = append(rows, r)
	}
	for key := range explicit {
		if !used[key] {
			return nil, fmt.Errorf("inventory: the table has %q, which is not a symbol of Keras", key)
		}
	}
	return rows, nil
}

// operationEntries lists the counterparts of the functions of keras.ops: a function of package ops, or a step of a
// Functional model.
func operationEntries() map[string]entry {
	entries := map[string]entry{}
	for _, e := range ops.Inventory() {
		ours := ""
		if e.Function != "" {
			ours = "ops." + e.Function
		} else if name := e.Name[strings.LastIndex(e.Name, ".")+1:]; slices.Contains(layers.OperationNames(), e.Name) || slices.Contains(layers.OperationNames(), name) {
			ours = "layers.Op"
		}
		entries["ops."+e.Name] = entry{ours, e.Difference}
	}
	return entries
}

// derived finds the counterpart of a symbol without an entry in the table: a registered class, a known name, or the Go
// spelling.
func derived(s Symbol, names map[string]bool) string {
	name := s.Name
	if s.AliasOf != "" {
		name = s.AliasOf
	}
	known := func(ours string) string {
		if names[ours] {
			return ours
		}
		return ""
	}
	listed := func(list []string) string {
		if slices.Contains(list, name) {
			return `"` + name + `"`
		}
		return ""
	}
	class := func(pkg string, list []string) string {
		if slices.Contains(list, name) {
			return known(pkg + "." + name)
		}
		return known(pkg + "." + camel(name))
	}
	switch s.Module {
	case "layers":
		return class("layers", layers.ClassNames())
	case "losses":
		if s.Kind == "function" && resolves(losses.Get(name)) {
			return `"` + name + `"`
		}
		return class("losses", losses.ClassNames())
	case "metrics":
		if s.Kind == "function" && resolves(metrics.Get(name)) {
			return `"` + name + `"`
		}
		return class("metrics", metrics.ClassNames())
	case "optimizers":
		return class("optimizers", optimizers.ClassNames())
	case "optimizers.schedules":
		return class("schedules", schedules.ClassNames())
	case "callbacks":
		return known("callbacks." + name)
	case "applications":
		return known("applications.New" + name)
	case "initializers":
		return class("initializers", initializers.Names())
	case "regularizers":
		return class("regularizers", regularizers.Names())
	case "constraints":
		return class("constraints", constraints.Names())
	case "activations":
		return listed(activations.Names())
	}
	return ""
}

func resolves(_ any, err error) bool { return err == nil }

// camel turns a Python name into a Go name: log_softmax becomes LogSoftmax. Names of classes stay.
func camel(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
