package keras

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/layers"
)

// nameInputs names the inputs without a name: input_layer, input_layer_1, ...
func (f *functional) nameInputs() {
	taken := map[string]bool{}
	for _, t := range f.in.list {
		taken[t.Name()] = true
	}
	count := 0
	for _, t := range f.in.list {
		for t.Name() == "" {
			name := "input_layer"
			if count > 0 {
				name = fmt.Sprintf("input_layer_%d", count)
			}
			count++
			if !taken[name] {
				t.SetName(name)
			}
		}
	}
	f.inNames = f.in.names
	if f.inNames == nil {
		for _, t := range f.in.list {
			f.inNames = append(f.inNames, t.Name())
		}
	}
}

// checkNames refuses inputs that share their name with another input or a layer: a file could not tell them apart, and
// Save would fail for a model that was already trained.
func (f *functional) checkNames() error {
	of := map[string]string{}
	for _, l := range f.layers {
		of[layers.Name(l)] = "a layer (" + layers.ClassName(l) + ")"
	}
	for _, t := range f.in.list {
		if other := of[t.Name()]; other != "" {
			return fmt.Errorf("an input and %s are both named %q; names must be unique within a model, so give one of them another", other, t.Name())
		}
		of[t.Name()] = "another input"
	}
	return nil
}

// nameOutputs names each output after its layer, or by its key.
func (f *functional) nameOutputs() {
	if f.out.names != nil {
		f.names = f.out.names
		return
	}
	for _, t := range f.out.list {
		name := t.Name()
		if n, _ := t.Node(); n.Layer != nil {
			name = layers.Name(n.Layer)
		}
		f.names = append(f.names, name)
	}
	of, counts := slices.Clone(f.names), map[string]int{}
	for i, name := range of {
		if !slices.Contains(of[:i], name) {
			continue
		}
		for f.layerNames = of; slices.Contains(f.names[:i], f.names[i]) || slices.Contains(of, f.names[i]); {
			counts[name]++
			f.names[i] = fmt.Sprintf("%s_%d", name, counts[name])
		}
	}
}
