package saving

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/hdf5"
	"github.com/gokeras/gokeras/layers"
)

// Legacy is an HDF5 file in the format of Keras 1 and 2, which Keras 3 still writes: a whole model or only weights.
type Legacy struct {
	root    *hdf5.Group
	weights *hdf5.Group
}

// OpenLegacy opens such a file. It returns nil without an error if the file has another format.
func OpenLegacy(r io.ReaderAt, size int64) (*Legacy, error) {
	if r == nil {
		return nil, fmt.Errorf("the reader is nil")
	}
	file, err := hdf5.Open(r, size)
	if err != nil {
		return nil, err
	}
	root := file.Root()
	l := &Legacy{root: root, weights: root}
	if root.Has("model_weights") {
		if l.weights, err = root.Group("model_weights"); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"layer_names", "layer_names0"} {
		if _, err = l.weights.Attribute(name); err == nil || !errors.Is(err, hdf5.ErrNotFound) {
			return l, err
		}
	}
	return nil, nil
}

// Text returns an attribute of the file, "model_config" or "training_config", or "" if there is none.
func (l *Legacy) Text(name string) (string, error) {
	a, err := l.root.Attribute(name)
	if errors.Is(err, hdf5.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return a.Text()
}

// named is a dataset with its name in the file.
type named struct {
	name string
	data *hdf5.Dataset
}

// list returns the datasets that the attribute weight_names of an object lists.
func list(group *hdf5.Group) ([]named, error) {
	if a, err := group.Attribute("weight_names"); err == nil && slices.Contains(a.Shape(), 0) {
		return nil, nil // h5py stores an empty list as numbers
	}
	names, err := hdf5.StringList(group, "weight_names")
	if errors.Is(err, hdf5.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := make([]named, len(names))
	for i, name := range names {
		d, err := group.Dataset(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", group.Path(), err)
		}
		out[i] = named{name, d}
	}
	return out, nil
}

// legacyLayer is a layer in the file. It may have no weights.
type legacyLayer struct {
	name    string
	weights []named
}

func (l *Legacy) layers() ([]legacyLayer, error) {
	names, err := hdf5.StringList(l.weights, "layer_names")
	if err != nil {
		return nil, err
	}
	var out []legacyLayer
	for _, name := range names {
		group, err := l.weights.Group(name)
		if err != nil {
			return nil, fmt.Errorf("layer %q: %w", name, err)
		}
		weights, err := list(group)
		if err != nil {
			return nil, fmt.Errorf("layer %q: %w", name, err)
		}
		out = append(out, legacyLayer{name, weights})
	}
	return out, nil
}

// Load loads the values of the file into the layers of a model, in their order, as Keras does. If something does not
// fit, nothing is changed, unless skipMismatch skips it: weights of another shape, and layers with another number of
// weights.
func (l *Legacy) Load(model layers.Layer, skipMismatch bool) (*Report, error) {
	file, err := l.layers()
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	file = slices.DeleteFunc(file, func(f legacyLayer) bool { return len(f.weights) == 0 })
	var own []layers.Layer
	for _, member := range layers.Sublayers(model) {
		if len(layers.Weights(member)) > 0 {
			own = append(own, member)
		}
	}
	if len(file) != len(own) {
		return nil, fmt.Errorf("the weights do not fit the model: it has %d layers with weights, the file has %d", len(own), len(file))
	}
	file = byName(file, own)
	var pairs []legacyPair
	for i, member := range own {
		pairs = append(pairs, legacyPair{member, file[i]})
	}
	return loadLegacy(pairs, &Report{}, skipMismatch)
}

// LoadByName loads the values of the file into the layers of a model that have the names of the file's layers, as Keras
// does with by_name=True. Other layers of the model stay as they are, and the report lists those of the file as unused.
// What does not fit is an error or skipped, as by Load.
func (l *Legacy) LoadByName(model layers.Layer, skipMismatch bool) (*Report, error) {
	file, err := l.layers()
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	report := &Report{}
	var pairs []legacyPair
	own := layers.Sublayers(model)
	for _, f := range file {
		found := false
		for _, member := range own {
			if layers.Name(member) == f.name {
				pairs, found = append(pairs, legacyPair{member, f}), true
			}
		}
		for _, w := range f.weights {
			if !found {
				report.Unused = append(report.Unused, f.name+"/"+w.name)
			}
		}
	}
	slices.Sort(report.Unused)
	return loadLegacy(pairs, report, skipMismatch)
}

// legacyPair is a layer of a model and the one of the file whose values it gets.
type legacyPair struct {
	own  layers.Layer
	file legacyLayer
}

func loadLegacy(pairs []legacyPair, report *Report, skipMismatch bool) (*Report, error) {
	var todo []assignment
	var mistakes []string
	for _, p := range pairs {
		fit, skipped, err := matchLegacy(p.own, p.file)
		if err != nil && !skipMismatch {
			mistakes = append(mistakes, err.Error())
		}
		todo, report.Skipped = append(todo, fit...), append(report.Skipped, skipped...)
	}
	if len(mistakes) > 0 {
		return nil, Mismatch(mistakes)
	}
	return report, assign(todo, report)
}

// byName puts the layers of the file into the order of the model's layers if all names agree. Otherwise it keeps the
// order of the file.
func byName(file []legacyLayer, own []layers.Layer) []legacyLayer {
	index := map[string]legacyLayer{}
	for _, f := range file {
		index[f.name] = f
	}
	out := make([]legacyLayer, 0, len(own))
	for _, l := range own {
		f, ok := index[layers.Name(l)]
		if !ok {
			return file
		}
		out = append(out, f)
	}
	return out
}

// matchLegacy finds which weights of the file fit a layer's, and which do not. The error is about the first of those.
func matchLegacy(l layers.Layer, f legacyLayer) (fit []assignment, skipped []Skip, first error) {
	vars := append(layers.TrainableWeights(l), layers.NonTrainableWeights(l)...)
	if len(vars) != len(f.weights) {
		first = fmt.Errorf("layer %q (%s) expected %d variables, but the file has %d for layer %q", layers.Name(l), layers.ClassName(l), len(vars), len(f.weights), f.name)
		for _, v := range vars {
			skipped = append(skipped, Skip{Tensor: f.name, Variable: v.Path(), Reason: first.Error()})
		}
		return nil, skipped, first
	}
	for i, v := range vars {
		w := f.weights[i]
		t, err := typeOf(w.data)
		if err == nil && !t.Shape.Equal(v.Type().Shape) {
			err = fmt.Errorf("shape mismatch: the variable has shape %s, the file holds shape %s", layers.ShapeString(v.Type().Shape), layers.ShapeString(t.Shape))
		}
		if err == nil {
			fit = append(fit, assignment{v, w.data, f.name + "/" + w.name})
			continue
		}
		err = fmt.Errorf("layer %q: variable %s (%s): %w", layers.Name(l), v.Path(), w.name, err)
		if skipped = append(skipped, Skip{Tensor: f.name + "/" + w.name, Variable: v.Path(), Reason: err.Error()}); first == nil {
			first = err
		}
	}
	return fit, skipped, first
}

// LoadOptimizer loads the optimizer's variables. If the file does not fit they stay unchanged, as in Keras. The
// learning rate, which Keras 2 files do not store, stays too.
func (l *Legacy) LoadOptimizer(vars distribute.Variables, report *Report) error {
	if len(vars) == 0 || !l.root.Has("optimizer_weights") {
		return nil
	}
	group, err := l.root.Group("optimizer_weights")
	if err != nil {
		return err
	}
	weights, err := list(group)
	if err != nil {
		return err
	}
	if len(weights) == len(vars)-1 && len(vars) > 1 && vars[1].Name() == "learning_rate" {
		vars = append(vars[:1:1], vars[2:]...)
	}
	todo, reason := matchOptimizer(weights, vars)
	if reason != "" {
		report.Skipped = append(report.Skipped, Skip{Tensor: "optimizer_weights", Reason: reason})
		return nil
	}
	return assign(todo, report)
}

func matchOptimizer(weights []named, vars distribute.Variables) ([]assignment, string) {
	if len(weights) != len(vars) {
		return nil, fmt.Sprintf("the optimizer has %d variables, the file %d; it keeps the state it has", len(vars), len(weights))
	}
	todo := make([]assignment, len(vars))
	for i, v := range vars {
		t, err := typeOf(weights[i].data)
		if err != nil || !t.Shape.Equal(v.Type().Shape) {
			return nil, fmt.Sprintf("%s has shape %v, the optimizer's %s has shape %v; it keeps the state it has", weights[i].name, t.Shape, v.Name(), v.Type().Shape)
		}
		todo[i] = assignment{v, weights[i].data, "optimizer_weights/" + strings.TrimPrefix(weights[i].name, "/")}
	}
	return todo, ""
}
