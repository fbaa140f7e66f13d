package keras

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// Tensors are the inputs or outputs of a Functional model, in order, with names where they are a dict.
type Tensors struct {
	names  []string
	list   []*layers.KerasTensor
	listed bool // read as a list; without it one tensor is written alone
}

// Inputs lists the inputs of a Functional model. Data for it are one array, a list in this order, or a dict by input names.
func Inputs(tensors ...*layers.KerasTensor) Tensors { return Tensors{list: tensors} }

// Outputs lists the outputs of a Functional model.
func Outputs(tensors ...*layers.KerasTensor) Tensors { return Tensors{list: tensors} }

// Dict gives the inputs or outputs of a Functional model by name; they are ordered by name.
func Dict(tensors map[string]*layers.KerasTensor) Tensors {
	var t Tensors
	for name := range tensors {
		t.names = append(t.names, name)
	}
	slices.Sort(t.names)
	for _, name := range t.names {
		t.list = append(t.list, tensors[name])
	}
	return t
}

// InputOption is an option of Input.
type InputOption interface{ applyInput(*inputConfig) }

type inputConfig struct {
	name  string
	shape []int
	dtype string
	batch int
}

type inputOption func(*inputConfig)

func (f inputOption) applyInput(c *inputConfig) { f(c) }

// Shape gives the shape of one example, without the batch axis; layers.Unknown leaves an axis open.
func Shape(shape ...int) InputOption {
	return inputOption(func(c *inputConfig) { c.shape = append([]int{}, shape...) })
}

// InputName names the input; the default is "input_layer", with a count from the second on.
func InputName(name string) InputOption { return inputOption(func(c *inputConfig) { c.name = name }) }

// DType gives the element type; the default is "float32". "string" is text, which only layers such as TextVectorization take.
func DType(dtype string) InputOption { return inputOption(func(c *inputConfig) { c.dtype = dtype }) }

// FixedBatch fixes the length of the batch axis, for stateful layers.
func FixedBatch(n int) InputOption { return inputOption(func(c *inputConfig) { c.batch = n }) }

// Input declares an input of a Functional model.
func Input(options ...InputOption) *layers.KerasTensor {
	c := inputConfig{dtype: "float32", batch: layers.Unknown}
	for _, o := range options {
		if o != nil {
			o.applyInput(&c)
		}
	}
	dtype, err := layers.ParseInputDType(c.dtype)
	if err != nil {
		return layers.Failed(fmt.Errorf("Input: %w", err))
	}
	return layers.NewInput(c.name, dtype, append([]int{c.batch}, c.shape...)...)
}

// functional is a graph of layer calls.
type functional struct {
	in, out Tensors
	nodes   []*layers.Node // in the order of computation
	layers  []layers.Layer
	byDepth []layers.Layer
	order   []listed // byDepth with the inputs among the layers
	names   []string // of the outputs
	inNames []string // of the inputs
	host    *hostStage
	fed     []*layers.KerasTensor // what the program takes: the inputs, or what the host stage makes of them
}

// NewFunctional returns the model that computes outputs from inputs, through all layer calls between them. Weights are made
// when the layers are applied, so the model is built at once. Applying one layer several times shares its weights.
func NewFunctional(inputs, outputs Tensors, options ...Option) (*Model, error) {
	c := configure(options)
	f := &functional{in: inputs, out: outputs}
	if err := f.trace(); err != nil {
		return nil, fmt.Errorf("keras: Functional model: %w", err)
	}
	f.nameInputs()
	m, err := newModel(f, c)
	if err != nil {
		return nil, err
	}
	f.nameOutputs()
	if c.policy != "" { // the layers were built under the default policy: build them again
		for _, l := range f.layers {
			if !placed(l) {
				layers.Reset(l)
			}
		}
	}
	if err := m.build(typesOf(f.fed)); err != nil {
		return nil, fmt.Errorf("keras: %w", err)
	}
	return m, nil
}

// placed reports whether a layer's variables already belong to a model.
func placed(l layers.Layer) bool {
	for _, v := range layers.Weights(l) {
		if v.Strategy() != nil {
			return true
		}
	}
	return false
}

// trace collects the nodes between inputs and outputs.
func (f *functional) trace() error {
	if len(f.in.list) == 0 || len(f.out.list) == 0 {
		return fmt.Errorf("needs at least one input and one output, received %d and %d", len(f.in.list), len(f.out.list))
	}
	for i, t := range f.in.list {
		if err := t.Err(); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
	}
	for i, t := range f.out.list {
		if err := t.Err(); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	given := map[*layers.KerasTensor]bool{}
	for _, t := range f.in.list {
		if given[t] {
			return fmt.Errorf("input %v is listed twice", t)
		}
		given[t] = true
	}
	seen := map[*layers.Node]bool{}
	if err := f.visit(f.out.list, given, seen); err != nil {
		return err
	}
	slices.SortFunc(f.nodes, func(a, b *layers.Node) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for _, n := range f.nodes {
		if !slices.Contains(f.layers, n.Layer) {
			f.layers = append(f.layers, n.Layer)
		}
	}
	f.sortByDepth()
	var err error
	if f.host, err = newHostStage(f.in.list, f.out.list, f.nodes); err != nil {
		return err
	}
	if f.fed = f.in.list; f.host != nil {
		f.fed = f.host.fed
	}
	return nil
}

// visit walks from tensors back to the inputs. Calls are recorded in order, so there are no cycles; the walk keeps a list of its
// own instead of recursing, so depth is no limit.
func (f *functional) visit(tensors []*layers.KerasTensor, given map[*layers.KerasTensor]bool, seen map[*layers.Node]bool) error {
	pending := slices.Clone(tensors)
	for len(pending) > 0 {
		t := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if given[t] {
			continue
		}
		n, _ := t.Node()
		if n.Layer == nil {
			return fmt.Errorf("the outputs depend on input %q %v, which is not among the model's inputs; list it in keras.Inputs", t.Name(), t)
		}
		if seen[n] {
			continue
		}
		seen[n] = true
		f.nodes = append(f.nodes, n)
		pending = append(pending, n.Inputs...)
	}
	return nil
}

// sortByDepth orders inputs and layers as Keras lists them: by distance from the outputs, the farthest first; where that is
// equal, in the order in which a walk from the outputs meets them.
func (f *functional) sortByDepth() {
	depth := map[*layers.Node]int{}
	layerDepth := map[layers.Layer]int{}
	inputDepth := map[*layers.KerasTensor]int{}
	for i := len(f.nodes) - 1; i >= 0; i-- {
		n := f.nodes[i]
		layerDepth[n.Layer] = max(layerDepth[n.Layer], depth[n])
		depth[n] = layerDepth[n.Layer]
		for _, t := range n.Inputs {
			if slices.Contains(f.in.list, t) {
				inputDepth[t] = max(inputDepth[t], depth[n]+1)
				continue
			}
			from, _ := t.Node()
			depth[from] = max(depth[from], depth[n]+1)
		}
	}
	f.order = f.walk()
	slices.SortStableFunc(f.order, func(a, b listed) int { return b.depth(layerDepth, inputDepth) - a.depth(layerDepth, inputDepth) })
	for _, e := range f.order {
		if e.layer != nil {
			f.byDepth = append(f.byDepth, e.layer)
		}
	}
}

// listed is one line of a model's list of operations: a layer or an input.
type listed struct {
	layer layers.Layer
	input *layers.KerasTensor
}

func (e listed) depth(layer map[layers.Layer]int, input map[*layers.KerasTensor]int) int {
	if e.layer != nil {
		return layer[e.layer]
	}
	return input[e.input]
}

// walk lists layers and inputs in the order of a depth-first walk from the outputs, each where it is first met.
func (f *functional) walk() []listed {
	var order []listed
	seen := map[any]bool{}
	pending := slices.Clone(f.out.list)
	slices.Reverse(pending)
	for len(pending) > 0 {
		t := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if slices.Contains(f.in.list, t) {
			if !seen[t] {
				seen[t] = true
				order = append(order, listed{input: t})
			}
			continue
		}
		n, _ := t.Node()
		if !seen[n.Layer] {
			seen[n.Layer] = true
			order = append(order, listed{layer: n.Layer})
		}
		if seen[n] {
			continue
		}
		seen[n] = true
		for _, in := range slices.Backward(n.Inputs) {
			pending = append(pending, in)
		}
	}
	for _, t := range f.in.list { // inputs that no output depends on
		if !seen[t] {
			order = append(order, listed{input: t})
		}
	}
	return order
}

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
	counts := map[string]int{}
	for i, name := range f.names {
		if counts[name]++; counts[name] > 1 {
			f.names[i] = fmt.Sprintf("%s_%d", name, counts[name]-1)
		}
	}
}

func (f *functional) forward(c *layers.Context, inputs []*ops.Tensor) []*ops.Tensor {
	inputs = adjustInputs(c, f.fed, inputs)
	values := make(map[*layers.KerasTensor]*ops.Tensor, len(f.nodes)+len(inputs))
	for i, t := range f.fed {
		values[t] = inputs[i]
	}
	for _, n := range f.nodes {
		if _, host := n.Layer.(layers.HostLayer); host {
			continue
		}
		for i, y := range n.Invoke(c, func(t *layers.KerasTensor) *ops.Tensor { return values[t] }) {
			if _, given := values[n.Outputs[i]]; !given {
				values[n.Outputs[i]] = y
			}
		}
	}
	outputs := make([]*ops.Tensor, len(f.out.list))
	for i, t := range f.out.list {
		outputs[i] = values[t]
	}
	return outputs
}

// adjustInputs checks the inputs against the declared ones and, as Keras does, adds or drops a last axis of length 1.
func adjustInputs(c *layers.Context, declared []*layers.KerasTensor, inputs []*ops.Tensor) []*ops.Tensor {
	if len(inputs) != len(declared) {
		ops.Failf(c.Graph(), "the model has %d inputs, received %d", len(declared), len(inputs))
	}
	out := make([]*ops.Tensor, len(inputs))
	for i, x := range inputs {
		want := declared[i].Shape()
		n := len(want)
		switch {
		case x.Rank() == n+1 && x.Dim(-1) == 1:
			x = ops.Squeeze(x, -1)
		case x.Rank() == n-1 && want[n-1] == 1:
			x = ops.ExpandDims(x, -1)
		}
		fits := x.Rank() == n
		for j := 0; fits && j < n; j++ {
			fits = want[j] == layers.Unknown || want[j] == x.Shape()[j]
		}
		if !fits {
			ops.Failf(c.Graph(), "input %q expects shape %s, received shape %s", declared[i].Name(), layers.ShapeString(want), layers.ShapeString(x.Shape()))
		}
		if d := declared[i].DType(); d.IsFloat() && !x.DType().IsFloat() {
			x = ops.Cast(x, d)
		}
		out[i] = x
	}
	return out
}

func (f *functional) members() []layers.Layer       { return f.byDepth }
func (f *functional) inputs() []*layers.KerasTensor { return f.in.list }
func (f *functional) className() string             { return "Functional" }
func (f *functional) outputNames() []string         { return f.names }

func (f *functional) inputNames() []string { return f.inNames }

func (f *functional) hostStage() *hostStage { return f.host }

// isStack reports whether the graph is a plain chain, which Summary shows without connections. Any of its results may be outputs.
func (f *functional) isStack() bool {
	if len(f.in.list) != 1 || len(f.nodes) != len(f.layers) {
		return false
	}
	uses := map[*layers.KerasTensor]int{}
	for _, n := range f.nodes {
		if len(n.Inputs) != 1 {
			return false
		}
		if uses[n.Inputs[0]]++; uses[n.Inputs[0]] > 1 {
			return false
		}
	}
	return true
}

// connections lists where the inputs of a layer come from: name[call][result].
func (f *functional) connections(l layers.Layer) string {
	calls := map[layers.Layer][]*layers.Node{}
	for _, n := range f.nodes {
		calls[n.Layer] = append(calls[n.Layer], n)
	}
	var out []string
	for _, n := range calls[l] {
		for _, t := range n.Inputs {
			from, index := t.Node()
			if slices.Contains(f.in.list, t) || from.Layer == nil {
				out = append(out, fmt.Sprintf("%s[0][0]", t.Name()))
				continue
			}
			out = append(out, fmt.Sprintf("%s[%d][%d]", layers.Name(from.Layer), slices.Index(calls[from.Layer], from), index))
		}
	}
	return strings.Join(out, ", ")
}

// typesString prints one shape, or a list of several.
func typesString(types []ir.Type) string {
	if len(types) == 1 {
		return layers.ShapeString(types[0].Shape)
	}
	shapes := make([]string, len(types))
	for i, t := range types {
		shapes[i] = layers.ShapeString(t.Shape)
	}
	return "[" + strings.Join(shapes, ", ") + "]"
}
