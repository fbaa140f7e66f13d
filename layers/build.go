package layers

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unsafe"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
	"github.com/gokeras/gokeras/layers/constraints"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/layers/regularizers"
)

// Builder creates the variables of one layer.
type Builder struct {
	base    *Base
	context *Context
	policy  ops.DTypePolicy
}

// WeightOptions describe a variable created with AddWeight. Initializer, Regularizer and Constraint are names or
// values, as in the layers' fields; nil means glorot_uniform for floats and zeros for other types, none, and none.
type WeightOptions struct {
	Initializer     any
	Regularizer     any
	Constraint      any
	DType           ir.DType // Invalid: the variable type of the layer's policy
	Frozen          bool
	Synchronization distribute.VariableSynchronization
	Aggregation     distribute.VariableAggregation

	check func(a kernels.Array) error // what values it cannot be given; nil: it takes all
}

// AddWeight creates a variable of the layer, like Keras's add_weight.
func (b *Builder) AddWeight(name string, shape ir.Shape, o WeightOptions) *distribute.Variable {
	spec := distribute.VariableSpec{
		Name: name, Shape: shape.Clone(), DType: o.DType, Frozen: o.Frozen, Owner: b.base,
		Synchronization: o.Synchronization, Aggregation: o.Aggregation, Check: o.check,
	}
	if spec.DType == ir.Invalid {
		spec.DType = b.policy.Variable
	}
	if slices.ContainsFunc(shape, dim.Open) {
		b.Fail("weight %q would have the shape %v, which follows an open axis of the input; weights are made once and need fixed lengths: give the axis a length in the shape of the input", name, shape)
	}
	if size := ir.MulLengths(append(shape.Clone(), spec.DType.Size())...); size > memory.Addressable {
		b.Fail("weight %q of %v would take %.3g bytes, more than a machine can address; check the layer's sizes and the shape of its input", name, ir.Type{DType: spec.DType, Shape: shape}, float64(size))
	}
	if o.Initializer == nil {
		o.Initializer = "zeros"
		if spec.DType.IsFloat() {
			o.Initializer = "glorot_uniform"
		}
	}
	initializer, err := initializers.Get(o.Initializer)
	b.check(name, err)
	spec.Initializer = initializer
	if o.Regularizer != nil {
		r, err := regularizers.Get(o.Regularizer)
		b.check(name, err)
		if r != nil {
			spec.Regularizer = r.Penalty
		}
	}
	if o.Constraint != nil {
		r, err := constraints.Get(o.Constraint)
		b.check(name, err)
		if r != nil {
			spec.Constraint, spec.ConstraintOf = r.Apply, r
		}
	}
	v := distribute.NewVariable(spec)
	b.base.weights = append(b.base.weights, v)
	return v
}

func (b *Builder) check(name string, err error) {
	if err != nil {
		ops.Fail(b.context.Graph(), fmt.Errorf("weight %q: %w", name, err))
	}
}

// Fail reports a mistake in the layer's configuration or inputs.
func (b *Builder) Fail(format string, args ...any) { ops.Failf(b.context.Graph(), format, args...) }

// SetActivityRegularizer makes each call of the layer add the penalty of its results to the loss.
func (b *Builder) SetActivityRegularizer(regularizer any) {
	if regularizer == nil {
		return
	}
	r, err := regularizers.Get(regularizer)
	b.check("activity_regularizer", err)
	if r != nil {
		b.base.activity = r.Penalty
	}
}

// Adopt tells the layer that it consists of the given layers, for sub-layers that are created in Build and not held in
// exported fields. Their weights are trained and saved with the layer's own. Keras's files hold them as the list
// "adopted", in the order of adoption, or under the names that the layer gives them as an [AttributeNamer].
func (b *Builder) Adopt(members ...Layer) {
	for _, m := range members {
		attach(m).parent = b.base
		if !slices.Contains(b.base.sublayers, m) {
			b.tellApart(m)
			b.base.sublayers = append(b.base.sublayers, m)
		}
	}
}

// tellApart numbers members with the same name or class, because variables with equal paths would get equal initial
// values.
func (b *Builder) tellApart(m Layer) { tellApart(b.base.sublayers, m) }

func tellApart(members []Layer, m Layer) {
	prefix := Name(m)
	name := prefix
	for n := 1; slices.ContainsFunc(members, func(other Layer) bool { return other != m && Name(other) == name }); n++ {
		name = fmt.Sprintf("%s_%d", prefix, n)
	}
	if name != prefix {
		m.base().name = name
	}
}

// TellApart numbers the layers inside root whose name an earlier one already has: name_1, name_2, ... Keras lets the
// attributes of a user's own model have equal names, because its files know them by their attributes; here names are
// also part of the paths of variables.
func TellApart(root Layer) {
	if IsNil(root) {
		return
	}
	members := Sublayers(root)
	for i, l := range members {
		if l.base().name != "" {
			tellApart(members[:i], l)
		}
	}
}

// BuildMember builds a layer that is part of this one for inputs of the given shapes, if it is not built yet. A layer
// that is neither in an exported field nor adopted yet is adopted.
func (b *Builder) BuildMember(l Layer, inputs ...ir.Shape) {
	m := attach(l)
	if !m.insideOf(b.base) {
		b.Adopt(l)
	}
	m.parent = b.base
	if m.built {
		return
	}
	if m.bounds != nil {
		ops.Fail(b.context.Graph(), m.bounds)
	}
	if w, ok := l.(WeightBuilder); ok {
		b.context.EnterLayer(Name(l), m.dtypePolicy(b.context).Compute)
		builder := &Builder{base: m, context: b.context, policy: m.dtypePolicy(b.context)}
		guard(l, b.context, "Build", func() { w.Build(builder, inputs) })
		builder.findMade()
		b.context.LeaveLayer()
	}
	m.resolved = m.dtypePolicy(b.context)
	m.built, m.shapes = true, inputs
}

// readCommonFields takes over the fields Name, Frozen and DType that layers have by convention.
func (b *Base) readCommonFields() {
	v := reflect.ValueOf(b.self)
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return
	}
	if f := v.FieldByName("Name"); f.IsValid() && f.Kind() == reflect.String {
		b.name = f.String()
	}
	if f := v.FieldByName("Frozen"); f.IsValid() && f.Kind() == reflect.Bool {
		if b.frozen = f.Bool(); f.CanInterface() {
			b.field, _ = f.Addr().Interface().(*bool)
		}
	}
	if f := v.FieldByName("DType"); f.IsValid() && f.Kind() == reflect.String {
		b.policy = f.String()
	}
}

var layerType = reflect.TypeFor[Layer]()

// findSublayers looks for layers in the exported fields, also in slices, arrays, maps (by sorted key) and nested
// structs.
func (b *Base) findSublayers() {
	v := reflect.ValueOf(b.self)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	for _, found := range LayersIn(v) {
		s := attach(found)
		if !s.contains(b) {
			s.parent = b
		}
		if s.name != "" {
			tellApart(b.sublayers, found)
		}
		b.sublayers = append(b.sublayers, found)
	}
}

// contains reports whether b is s or inside it.
//
//go:noinline
func (s *Base) contains(b *Base) bool {
	for ; b != nil; b = b.parent {
		if b == s {
			return true
		}
	}
	return false
}

// insideOf reports whether m is among the layers that b is made of, or in one of them.
//
//go:noinline
func (m *Base) insideOf(b *Base) (found bool) {
	Walk(b.self, func(l Layer) { found = found || l.base() == m })
	return found
}

// LayersIn returns the layers held by the exported fields of a struct, or by the members of a slice, array or map, in
// order. Maps are visited in the order of their keys.
func LayersIn(v reflect.Value) []Layer { return finder{}.search(v) }

// finder records what it has followed, so that cycles end.
type finder map[followed]bool

type followed struct {
	at   unsafe.Pointer
	kind reflect.Type
}

// again reports whether the finder has visited a pointer, slice or map before.
func (f finder) again(v reflect.Value) bool {
	at := followed{v.UnsafePointer(), v.Type()}
	seen := f[at]
	f[at] = true
	return seen
}

// visit looks at one field or element.
func (f finder) visit(v reflect.Value) []Layer {
	if !v.IsValid() || !v.CanInterface() {
		return nil
	}
	if k := v.Kind(); v.Type().Implements(layerType) && (k == reflect.Pointer || k == reflect.Interface) {
		if v.IsNil() {
			return nil
		}
		if l := v.Interface().(Layer); !IsNil(l) {
			return []Layer{l}
		}
		return nil
	}
	return f.search(v)
}

// visible reports whether a field is searched for layers. Exported fields are, and so are embedded structs of
// unexported types, because their exported fields are promoted to the outer struct.
func visible(f reflect.StructField) bool {
	return f.Type != reflect.TypeFor[Base]() && (f.IsExported() || f.Anonymous && f.Type.Kind() == reflect.Struct)
}

// search visits the fields or elements of v.
func (f finder) search(v reflect.Value) (out []Layer) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !f.again(v) {
			return f.visit(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			return f.visit(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch field := v.Type().Field(i); {
			case !visible(field):
			case field.IsExported():
				out = append(out, f.visit(v.Field(i))...)
			default: // embedded
				out = append(out, f.search(v.Field(i))...)
			}
		}
	case reflect.Slice, reflect.Array:
		if !mayHoldLayers(v.Type().Elem(), 0) || v.Kind() == reflect.Slice && f.again(v) {
			return nil
		}
		for i := range v.Len() {
			out = append(out, f.visit(v.Index(i))...)
		}
	case reflect.Map:
		if f.again(v) {
			return nil
		}
		keys := v.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return compareKeys(keys[i], keys[j]) < 0 })
		for _, k := range keys {
			out = append(out, f.visit(v.MapIndex(k))...)
		}
	}
	return out
}

// mayHoldLayers excludes large arrays of numbers.
func mayHoldLayers(t reflect.Type, depth int) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Pointer:
		return depth > 10 || mayHoldLayers(t.Elem(), depth+1)
	case reflect.Struct, reflect.Interface, reflect.Map:
		return true
	}
	return false
}

// compareKeys orders numbers by value and everything else by its text.
func compareKeys(a, b reflect.Value) int {
	switch {
	case a.CanInt() && b.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint() && b.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

// ClassName returns the Keras class name of a layer: the result of its ClassName method, or else its Go type name.
func ClassName(l Layer) string {
	if n, ok := l.(interface{ ClassName() string }); ok {
		return n.ClassName()
	}
	if l == nil {
		ops.Fail(nil, errNilLayer)
	}
	t := reflect.TypeOf(l)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

var (
	nonWord    = regexp.MustCompile(`\W+`)
	beforeWord = regexp.MustCompile(`(.)([A-Z][a-z]+)`)
	afterLower = regexp.MustCompile(`([a-z])([A-Z])`)
)

// SnakeCase turns a class name into the prefix of automatic names, with Keras's rule: "Conv2DTranspose" becomes
// "conv2d_transpose" and "ReLU" "re_lu".
func SnakeCase(name string) string {
	name = nonWord.ReplaceAllString(name, "")
	name = beforeWord.ReplaceAllString(name, "${1}_$2")
	return strings.ToLower(afterLower.ReplaceAllString(name, "${1}_$2"))
}

// AssignNames gives every unnamed layer inside root a name made from its class and a count: dense, dense_1, ... The
// count runs in the order of first use, through the whole model. A name given twice among direct members is an error.
func AssignNames(root Layer) error {
	if IsNil(root) {
		return errNilLayer
	}
	var all []Layer
	Walk(root, func(l Layer) {
		if l != root {
			all = append(all, l)
		}
	})
	sort.SliceStable(all, func(i, j int) bool { return all[i].base().sequence < all[j].base().sequence })
	taken := map[string]bool{}
	for _, l := range all {
		b := l.base()
		if b.named { // a model inside: from now on its name stays
			b.name, b.named = "", false
		}
		taken[b.name] = true
	}
	counts := map[string]int{}
	for _, l := range all {
		b := l.base()
		if b.name != "" {
			continue
		}
		prefix := SnakeCase(ClassName(l))
		for b.name == "" || taken[b.name] {
			b.name = prefix
			if n := counts[prefix]; n > 0 {
				b.name = fmt.Sprintf("%s_%d", prefix, n)
			}
			counts[prefix]++
		}
		taken[b.name] = true
	}
	return uniqueNames(root)
}

func uniqueNames(root Layer) error {
	seen := map[string]Layer{}
	for _, l := range Sublayers(root) {
		name := Name(l)
		if strings.Contains(name, "/") {
			return fmt.Errorf("layers: name %q contains \"/\", which separates the parts of a path; choose a name without it", name)
		}
		if other := seen[name]; other != nil && other != l {
			return fmt.Errorf("layers: two layers are named %q (%s and %s); names must be unique within a model", name, describe(other), describe(l))
		}
		seen[name] = l
	}
	return nil
}

// needBuilt fails if a layer is not built; nil stands for a member that Build makes. Every Forward that uses results of
// Build other than through the context must call it.
func needBuilt(c *Context, l Layer) *Base {
	if !IsNil(l) {
		if b := attach(l); b.built {
			return b
		}
		if _, ok := l.(RNNCell); ok {
			ops.Failf(c.Graph(), "the cell %s is not built; call BuildMember on it in the layer's Build", ClassName(l))
		}
	}
	ops.Failf(c.Graph(), "the layer is not built; call a layer by Invoke or in a model, not by its Forward")
	return nil
}
