package saving

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/layers"
)

// Object is something stored in a weights file: a model, a layer, an optimizer.
type Object struct {
	// Path is its group, "layers/dense", or "" for the model itself. The variables are in the group vars below it.
	Path string
	// OlderPath is its group in files of earlier versions if that was different, otherwise "".
	OlderPath string
	// Name is the attribute "name" that Keras gives to the group vars.
	Name string
	// Layer is nil for an optimizer.
	Layer layers.Layer
	// Variables are in the order of their datasets.
	Variables distribute.Variables
	// Merged are variables without a dataset: those of others contain their values.
	Merged distribute.Variables
	// Older are the variables in the order of files of earlier versions, if that was different.
	Older distribute.Variables
	// Lenient objects stay unchanged if the file has another number of variables, like optimizers in Keras.
	Lenient bool
}

// Attributer is implemented by models made from a value of a user's own type, whose fields determine the paths.
type Attributer interface {
	// Attributes lists the parts of the value. It returns false if the model is not of this kind.
	Attributes() ([]layers.Attribute, bool)
}

// Objects lists a model and everything inside it in the order in which Keras writes them, each once.
//
// The layers of a Sequential or Functional model are in the list "layers". In a model of a user's own type they are
// under the names of its attributes; attributes that come after "layers" in alphabetical order are found in that list
// first.
func Objects(model layers.Layer) []Object {
	w := walker{seen: map[layers.Layer]bool{}}
	w.object(model, "", "")
	return w.out
}

// Missing lists the variables of a model that belong to none of the objects: a file would lose them.
func Missing(model layers.Layer, objects []Object) distribute.Variables {
	held := map[*distribute.Variable]bool{}
	for _, o := range objects {
		for _, v := range slices.Concat(o.Variables, o.Merged) {
			held[v] = true
		}
	}
	var out distribute.Variables
	for _, v := range layers.Weights(model) {
		if !held[v] {
			out = append(out, v)
		}
	}
	return out
}

// CheckComplete returns an error if objects lack variables of a model, or two objects have the same path.
func CheckComplete(model layers.Layer, objects []Object) error {
	if layers.IsNil(model) {
		return errors.New("the model is nil")
	}
	if missing := Missing(model, objects); len(missing) > 0 {
		return fmt.Errorf("variable %s has no place in a file (and %d more): the layer that owns it is in no exported field, and none names or adopts it; see layers.Builder.Adopt and layers.AttributeNamer", missing[0].Path(), len(missing)-1)
	}
	at := map[string]Object{}
	for _, o := range objects {
		if other, taken := at[o.Path]; taken && len(o.Variables)+len(other.Variables) > 0 {
			return fmt.Errorf("%s and %s have the same path %q in a file; give the fields or attributes that hold them different names", describe(other), describe(o), o.Path)
		}
		at[o.Path] = o
	}
	return nil
}

type walker struct {
	seen map[layers.Layer]bool
	out  []Object
}

// object lists an object and its parts. older is its path in files of earlier versions.
func (w *walker) object(l layers.Layer, path, older string) {
	if w.seen[l] {
		return
	}
	w.seen[l] = true
	filed, merged := layers.FileWeights(l)
	o := Object{Path: path, Name: layers.Name(l), Layer: l, Variables: filed, Merged: merged}
	if older != path {
		o.OlderPath = older
	}
	w.out = append(w.out, o)
	for _, a := range attributesOf(l) {
		into := join(older, a.Name)
		if wasAlone(l, a) {
			w.object(a.List[0].Layer, join(path, a.Name)+"/"+nameInList(a.List[0]), into)
			continue
		}
		w.attribute(a, join(path, a.Name), into)
	}
}

func (w *walker) attribute(a layers.Attribute, path, older string) {
	if a.Layer != nil {
		w.object(a.Layer, path, older)
		return
	}
	used := map[string]int{}
	for _, member := range a.List {
		name := nameInList(member)
		n := used[name]
		used[name]++
		if n > 0 {
			name = fmt.Sprintf("%s_%d", name, n)
		}
		w.attribute(member, join(path, name), join(older, name))
	}
}

func nameInList(member layers.Attribute) string {
	if member.Layer == nil {
		return "container"
	}
	return layers.SnakeCase(layers.ClassName(member.Layer))
}

// attributesOf lists the parts of a layer or model.
func attributesOf(l layers.Layer) []layers.Attribute {
	container, ok := l.(layers.Container)
	if !ok {
		return layers.AttributesOf(l)
	}
	list := layers.Attribute{Name: "layers"}
	for _, member := range container.Layers() {
		list.List = append(list.List, layers.Attribute{Layer: member})
	}
	own, subclassed := []layers.Attribute(nil), false
	if a, ok := l.(Attributer); ok {
		own, subclassed = a.Attributes()
	}
	if !subclassed {
		return []layers.Attribute{list}
	}
	at := slices.IndexFunc(own, func(a layers.Attribute) bool { return a.Name > list.Name || a.Name[0] == '_' })
	if at < 0 {
		at = len(own)
	}
	return slices.Insert(slices.Clone(own), at, list)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}
