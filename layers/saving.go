package layers

import (
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
)

// Attribute is an entry of a layer or model in a Keras weights file: a layer, or a list of layers and lists.
type Attribute struct {
	Name  string
	Layer Layer       // nil for a list
	List  []Attribute // their names have no meaning
}

// OwnWeights returns the variables of the layer itself, without those of the layers inside it, in the order in which a
// Keras file numbers them: first the trained ones, then the others.
func OwnWeights(l Layer) distribute.Variables {
	var out distribute.Variables
	for _, frozen := range []bool{false, true} {
		for _, v := range attach(l).weights {
			if v.Spec().Frozen == frozen {
				out = append(out, v)
			}
		}
	}
	return out
}

// AttributesOf returns what a layer is made of, by the names that a Keras file uses: those of [AttributeNamer], or else
// those of the layer's exported fields. A field is called by the key in its keras tag, which with the option
// "attribute" has no other meaning, or by its name in snake case ("Conv1" is "conv1"). Layers that neither names, such
// as those passed to [Builder.Adopt] and held in no exported field, form the list "adopted". Names are in alphabetical
// order, those that begin with an underscore last.
func AttributesOf(l Layer) []Attribute {
	var out []Attribute
	if namer, named := l.(AttributeNamer); named {
		out = namedAttributes(Sublayers(l), namer.MemberAttributes())
	} else {
		out = FieldAttributes(l)
	}
	held := map[Layer]bool{}
	for _, a := range out {
		a.layers(held)
	}
	rest := Attribute{Name: "adopted"}
	for _, member := range Sublayers(l) {
		if !held[member] {
			held[member] = true
			rest.List = append(rest.List, Attribute{Layer: member})
		}
	}
	if len(rest.List) > 0 {
		out = append(out, rest)
	}
	sortAttributes(out)
	return out
}

// layers collects the layers of an attribute.
func (a Attribute) layers(into map[Layer]bool) {
	if a.Layer != nil {
		into[a.Layer] = true
	}
	for _, member := range a.List {
		member.layers(into)
	}
}

// namedAttributes gives members their names. Members with the same name form a list, and so does one whose name ends in
// "[]".
func namedAttributes(members []Layer, names []string) []Attribute {
	var out []Attribute
	for i, member := range members {
		if i >= len(names) {
			break
		}
		name, listed := strings.CutSuffix(names[i], "[]")
		same := func(a Attribute) bool { return a.Name == name }
		if !listed && count(names, name) == 1 {
			out = append(out, Attribute{Name: name, Layer: member})
		} else if at := slices.IndexFunc(out, same); at >= 0 {
			out[at].List = append(out[at].List, Attribute{Layer: member})
		} else {
			out = append(out, Attribute{Name: name, List: []Attribute{{Layer: member}}})
		}
	}
	return out
}

func count(names []string, name string) int {
	n := 0
	for _, other := range names {
		if other == name {
			n++
		}
	}
	return n
}

// FieldAttributes returns the layers in the exported fields of a struct, or of what a pointer points to; see
// [AttributesOf]. The fields of embedded structs count as the struct's own. It returns nil for other values.
func FieldAttributes(value any) []Attribute {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	out := finder{}.attributes(v)
	sortAttributes(out)
	return out
}

// sortAttributes sorts attributes in the order in which Keras visits them.
func sortAttributes(list []Attribute) {
	key := func(a Attribute) string {
		if strings.HasPrefix(a.Name, "_") {
			return "~" + a.Name
		}
		return a.Name
	}
	sort.SliceStable(list, func(i, j int) bool { return key(list[i]) < key(list[j]) })
}

// attributes lists the fields of a struct that hold layers.
func (f finder) attributes(v reflect.Value) []Attribute {
	var out []Attribute
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !visible(field) {
			continue
		}
		if inner := reflect.Indirect(v.Field(i)); field.Anonymous && inner.Kind() == reflect.Struct && !field.Type.Implements(layerType) {
			out = append(out, f.attributes(inner)...)
			continue
		}
		if a, ok := f.attribute(v.Field(i)); ok {
			a.Name, _, _ = strings.Cut(field.Tag.Get("keras"), ",")
			if a.Name == "" || a.Name == "-" { // which is no part of the configuration, and has weights all the same
				a.Name = SnakeCase(field.Name)
			}
			out = append(out, a)
		}
	}
	return out
}

// attribute describes a value that holds a layer or several; false for any other.
func (f finder) attribute(v reflect.Value) (Attribute, bool) {
	if !v.IsValid() || !v.CanInterface() {
		return Attribute{}, false
	}
	if k := v.Kind(); v.Type().Implements(layerType) && (k == reflect.Pointer || k == reflect.Interface) {
		if l, ok := v.Interface().(Layer); ok && !IsNil(l) {
			return Attribute{Layer: l}, true
		}
		return Attribute{}, false
	}
	var parts []reflect.Value
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() || v.Kind() == reflect.Pointer && f.again(v) {
			return Attribute{}, false
		}
		return f.attribute(v.Elem())
	case reflect.Slice, reflect.Array:
		if !mayHoldLayers(v.Type().Elem(), 0) || v.Kind() == reflect.Slice && f.again(v) {
			return Attribute{}, false
		}
		for i := range v.Len() {
			parts = append(parts, v.Index(i))
		}
	case reflect.Map:
		if f.again(v) {
			return Attribute{}, false
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, compareKeys)
		for _, k := range keys {
			parts = append(parts, v.MapIndex(k))
		}
	case reflect.Struct:
		list := f.attributes(v)
		return Attribute{List: list}, len(list) > 0
	}
	var a Attribute
	for _, p := range parts {
		if member, ok := f.attribute(p); ok {
			a.List = append(a.List, member)
		}
	}
	return a, len(a.List) > 0
}

// AssetKeeper is implemented by layers that keep files of their own in a model file, such as the vocabulary of a lookup
// layer.
type AssetKeeper interface {
	// Assets returns the files by name ("vocabulary.txt"); none if the configuration says everything.
	Assets() (map[string][]byte, error)
	// LoadAssets takes over the files that Assets returned.
	LoadAssets(files map[string][]byte) error
}

// weightsInFiles describes how files hold the weights of a layer if that is not simply one dataset for each variable.
type weightsInFiles struct {
	variables distribute.Variables                                   // in the order of the datasets
	merged    distribute.Variables                                   // that have no dataset, because the values of others contain them
	values    func() (map[*distribute.Variable]kernels.Array, error) // in place of the variables' own; nil: none
	loaded    func() error                                           // what remains to be done after loading; nil: nothing
}

// filedWeights is implemented by layers that have such weights, or nil.
type filedWeights interface{ weightsInFiles() *weightsInFiles }

func inFiles(l Layer) *weightsInFiles {
	if f, ok := l.(filedWeights); ok && attach(l).built {
		return f.weightsInFiles()
	}
	return nil
}

// FileWeights returns the variables of the layer itself that have datasets in a Keras file, in their order, and those
// whose values files merge into others.
func FileWeights(l Layer) (filed, merged distribute.Variables) {
	if w := inFiles(l); w != nil {
		return w.variables, w.merged
	}
	return OwnWeights(l), nil
}

// FileValues returns what files hold instead of the values of variables; nil if there are no such variables.
func FileValues(l Layer) (map[*distribute.Variable]kernels.Array, error) {
	if w := inFiles(l); w != nil && w.values != nil {
		return w.values()
	}
	return nil, nil
}

// Loaded tells a layer that its variables now have the values of a file.
func Loaded(l Layer) error {
	if w := inFiles(l); w != nil && w.loaded != nil {
		return w.loaded()
	}
	return nil
}
