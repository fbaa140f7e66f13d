package keras

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/keras/onnx"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// ExportOption is an option of Export.
type ExportOption interface{ applyExport(*exportConfig) }

type exportConfig struct {
	batch       int
	open        bool // also where the inputs fix the batch
	description string
}

type exportOption func(*exportConfig)

func (f exportOption) applyExport(c *exportConfig) { f(c) }

// ExportBatch fixes the number of examples in a batch. The default leaves it open, as Keras does, also where an input
// declares it, unless the model can only compute batches of that size.
func ExportBatch(n int) ExportOption { return exportOption(func(c *exportConfig) { c.batch = n }) }

// ExportDescription sets a text that is stored in the file.
func ExportDescription(text string) ExportOption {
	return exportOption(func(c *exportConfig) { c.description = text })
}

// Export writes the model for inference in another program, in the format given by the file extension: ".onnx", ONNX
// with opset 18, see package [onnx]. The file is replaced atomically.
//
// Layers that run on the host, before the model's program (on text, for example), are left out: the inputs of the file
// are their results. The model must be built. Open axes of its inputs stay open, as far as the layers allow; inputs,
// outputs and weights keep their names. Layers that draw random numbers in inference or keep state between batches
// cannot be exported, and neither can operations in a type for which ONNX Runtime has no kernel: most in bfloat16,
// convolutions and some functions in float64. Half-precision outputs become float32, as in Predict.
func (m *Model) Export(path string, options ...ExportOption) error {
	c := exportConfig{}
	for _, o := range options {
		if o != nil {
			o.applyExport(&c)
		}
	}
	if extension := filepath.Ext(path); !strings.EqualFold(extension, ".onnx") {
		return fmt.Errorf("keras: Export: the file is %q; expected a name that ends in .onnx", path)
	}
	if c.batch < 0 {
		return fmt.Errorf("keras: Export: ExportBatch is %d; expected a number of examples, or 0 for any", c.batch)
	}
	document, err := m.exported(c)
	if n := m.rowsOfConstants(); err != nil && c.batch == 0 && n > 1 {
		c.batch = n
		if _, again := m.exported(c); again == nil {
			err = fmt.Errorf("the constants in the calls of its layers hold %d examples, so that the batch cannot stay open; export it with keras.ExportBatch(%d)", n, n)
		}
	}
	if err != nil {
		return prefixed("Export", err)
	}
	return prefixed("Export", atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(document)
		return err
	}))
}

// exported is the content of the file.
func (m *Model) exported(c exportConfig) ([]byte, error) {
	if layers.IsStateful(m) {
		return nil, fmt.Errorf("model %q is stateful: what it predicts depends on the batches before, which a file cannot remember; set Stateful to false, or make the state an input and an output", m.Name())
	}
	c.open = c.batch == 0
	document, err := m.marshaled(c)
	if c.open && err != nil { // the batch may be fixed for a reason
		c.open = false
		if fixed, again := m.marshaled(c); again == nil {
			return fixed, nil
		}
	}
	return document, err
}

func (m *Model) marshaled(c exportConfig) ([]byte, error) {
	program, err := m.inference(c)
	if err != nil {
		return nil, err
	}
	return program.Marshal()
}

// rowsOfConstants returns the largest first axis of the constants among the arguments of calls, or 0 if there are none.
func (m *Model) rowsOfConstants() int {
	f, ok := m.topology.(*functional)
	if !ok {
		return 0
	}
	rows := 0
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case kernels.Array:
			if len(v.Type.Shape) > 0 {
				rows = max(rows, v.Type.Shape[0])
			}
		case layers.ConstantTensor:
			look(v.Array)
		case []any:
			for _, e := range v {
				look(e)
			}
		case map[string]any:
			for _, e := range v {
				look(e)
			}
		}
	}
	for _, n := range f.nodes {
		if a, ok := n.Arguments(); ok {
			look(a.Positional)
			look(map[string]any(a.Keywords))
		}
	}
	return rows
}

// inference traces the model once. Open axes stay open, as sizes of package dim, except for a batch size that the
// options give.
func (m *Model) inference(c exportConfig) (*onnx.Program, error) {
	m.mu.Lock()
	inputs := slices.Clone(m.inputTypes)
	built := m.placed
	m.mu.Unlock()
	if !built || inputs == nil {
		return nil, fmt.Errorf("model %q is not built yet; give it an input shape, call Build, or train it first", m.Name())
	}
	if c.open {
		inputs = withOpenBatch(inputs)
	}
	p := &onnx.Program{Name: m.Name(), Description: c.description, Inputs: m.exportedInputs(inputs)}
	r, err := m.traceInference(p, inputs, c.batch)
	if err != nil {
		return nil, err
	}
	if where := r.Graph().ShapesOnly(); where != "" {
		return nil, fmt.Errorf("%s does other things for other lengths of the open axes, in a way that a program cannot follow; fix the batch (or the axis) in the shape of the input, or use ops.Length, ops.DivideByLength and their like", where)
	}
	p.Outputs = m.exportedNames(len(m.outputTypes))
	return p, m.exportedWeights(p, r, p.Trace)
}

// withOpenBatch returns the types for any number of examples. Some models have a number in their first axis only
// because that many examples were in the call that built them.
func withOpenBatch(types []ir.Type) []ir.Type {
	types = slices.Clone(types)
	for i, t := range types {
		if len(t.Shape) > 0 {
			types[i].Shape = t.Shape.Clone()
			types[i].Shape[0] = layers.Unknown
		}
	}
	return types
}

// exportedInputs returns the names of the inputs. Declared names are used where the program takes the declared tensor;
// if a layer that runs on the host precedes the program, the tensor is that layer's result.
func (m *Model) exportedInputs(types []ir.Type) []string {
	declared := m.topology.inputs()
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = "input"
		if len(types) > 1 {
			names[i] = fmt.Sprintf("input_%d", i)
		}
		if len(declared) == len(types) && declared[i].Name() != "" && declared[i].DType() == t.DType && len(declared[i].Shape()) == len(t.Shape) {
			names[i] = declared[i].Name()
		}
	}
	return names
}

// exportedNames returns the names of the outputs.
func (m *Model) exportedNames(n int) []string {
	names := slices.Clone(m.topology.outputNames())
	if len(names) != n {
		names = nil
		for i := range n {
			names = append(names, fmt.Sprintf("output_%d", i))
		}
	}
	return names
}

// traceInference traces the prediction for the given batch size (0 leaves it open).
func (m *Model) traceInference(p *onnx.Program, inputs []ir.Type, examples int) (r *distribute.Replica, err error) {
	defer ops.Catch(&err)
	types := slices.Clone(inputs)
	for i, t := range types {
		if examples > 0 && len(t.Shape) > 0 && t.Shape[0] == layers.Unknown {
			types[i].Shape = t.Shape.Clone()
			types[i].Shape[0] = examples
		}
	}
	types = layers.SymbolicTypes(types)
	batch := 1
	if len(types) > 0 && len(types[0].Shape) > 0 {
		batch = types[0].Shape[0]
	}
	r = distribute.NewReplica("inference", 1, batch, batch)
	in := make([]*ops.Tensor, len(types))
	for i, t := range types {
		in[i] = r.Graph().Input(fmt.Sprint("in", i), t.DType, t.Shape...)
	}
	p.Trace = r.Graph().Program()
	for i, y := range m.outputs(m.context(r, false), in) {
		if y.DType().IsHalf() {
			y = ops.Cast(y, ir.Float32)
		}
		p.Trace.AddOutput(fmt.Sprint("out", i), ops.In(r.Graph(), y))
	}
	return r, nil
}

// exportedWeights reads the values of the variables, in the order in which they are inputs of the trace.
func (m *Model) exportedWeights(p *onnx.Program, r *distribute.Replica, trace *ir.Program) error {
	m.values.RLock()
	defer m.values.RUnlock()
	variables := r.Variables()
	for _, in := range trace.Inputs[len(p.Inputs):] {
		if len(variables) == 0 || in.Name != variables[0].Path() { // the random state
			p.Weights = append(p.Weights, nil)
			continue
		}
		value, err := variables[0].Value()
		if err != nil {
			return err
		}
		p.Weights = append(p.Weights, &onnx.Weight{Path: variables[0].Path(), Value: value})
		variables = variables[1:]
	}
	return nil
}
