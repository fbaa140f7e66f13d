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
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// ExportOption is an option of Export.
type ExportOption interface{ applyExport(*exportConfig) }

type exportConfig struct {
	batch       int
	description string
}

type exportOption func(*exportConfig)

func (f exportOption) applyExport(c *exportConfig) { f(c) }

// ExportBatch fixes the number of examples in a batch; the default leaves it open.
func ExportBatch(n int) ExportOption { return exportOption(func(c *exportConfig) { c.batch = n }) }

// ExportDescription sets a text that is kept in the file.
func ExportDescription(text string) ExportOption {
	return exportOption(func(c *exportConfig) { c.description = text })
}

// Export writes the model for inference in another program, in the format that the ending of the file's name says: ".onnx", ONNX with
// opset 18, see package [onnx]. The file is replaced at once or not at all.
//
// Layers that work on the host, before the model's program (on text, say), are left out: the inputs of the file are what they make.
// The model must be built. Axes that are open in its inputs stay open, as far as the layers allow; inputs, outputs and weights have
// their names in the model. Layers draw no random numbers in inference, or cannot be exported; changes of state (a stateful
// recurrent layer) are left out. Outputs in half precision come as float32, as those of Predict.
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
	program, err := m.inference(c)
	if err != nil {
		return prefixed("Export", err)
	}
	document, err := program.Marshal()
	if err != nil {
		return prefixed("Export", err)
	}
	return prefixed("Export", atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(document)
		return err
	}))
}

// exportSizes are the lengths that stand for open axes while the model is traced: unlikely ones, which no layer has by itself.
var exportSizes = []onnx.Sizes{{Batch: 7919, Length: 64}, {Batch: 7927, Length: 64}, {Batch: 7919, Length: 96}, {Batch: 7927, Length: 96}, {Batch: 7933, Length: 160}}

// inference traces the model for all lengths of its open axes that are needed to tell how it depends on them.
func (m *Model) inference(c exportConfig) (*onnx.Program, error) {
	m.mu.Lock()
	inputs := slices.Clone(m.inputTypes)
	built := m.placed
	m.mu.Unlock()
	if !built || inputs == nil {
		return nil, fmt.Errorf("model %q is not built yet; give it an input shape, call Build, or train it first", m.Name())
	}
	p := &onnx.Program{Name: m.Name(), Description: c.description, Sizes: exportSizes[:1]}
	names := m.exportedInputs(inputs)
	longer, batched := false, false
	for i, t := range inputs {
		in := onnx.Input{Name: names[i]}
		for axis, n := range t.Shape {
			if axis == 0 && c.batch > 0 && n == layers.Unknown {
				continue
			}
			if n == layers.Unknown {
				in.Open = append(in.Open, axis)
				longer, batched = longer || axis > 0, batched || axis == 0
			}
		}
		p.Inputs = append(p.Inputs, in)
	}
	switch {
	case longer && batched:
		p.Sizes = exportSizes
	case batched:
		p.Sizes = []onnx.Sizes{exportSizes[0], exportSizes[1], {Batch: exportSizes[4].Batch, Length: exportSizes[0].Length}}
	case longer:
		p.Sizes = []onnx.Sizes{exportSizes[0], exportSizes[2], {Batch: exportSizes[0].Batch, Length: exportSizes[4].Length}}
	}
	for i, size := range p.Sizes {
		if c.batch > 0 {
			p.Sizes = slices.Clone(p.Sizes)
			size.Batch = c.batch
			p.Sizes[i] = size
		}
		if err := m.traceInference(p, inputs, size, i == 0); err != nil {
			return nil, err
		}
	}
	p.Outputs = m.exportedNames(len(m.outputTypes))
	return p, nil
}

// exportedInputs are the names of the inputs: those declared, as far as it is their tensors that the program takes. Where a layer
// that works on the host stands before the program, the tensor is what that layer makes.
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

// exportedNames are the names of the outputs.
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

// traceInference adds the trace for one size, and with the first one the weights.
func (m *Model) traceInference(p *onnx.Program, inputs []ir.Type, size onnx.Sizes, first bool) (err error) {
	defer ops.Catch(&err)
	batch := 1
	if len(inputs) > 0 && len(inputs[0].Shape) > 0 {
		if batch = inputs[0].Shape[0]; batch == layers.Unknown {
			batch = size.Batch
		}
	}
	r := distribute.NewReplica("inference", 1, batch, batch)
	in := make([]*ops.Tensor, len(inputs))
	for i, t := range inputs {
		shape := t.Shape.Clone()
		for axis, n := range shape {
			if n == layers.Unknown {
				shape[axis] = size.Length
				if axis == 0 {
					shape[axis] = size.Batch
				}
			}
		}
		in[i] = r.Graph().Input(fmt.Sprint("in", i), t.DType, shape...)
	}
	trace := r.Graph().Program()
	for i, y := range m.outputs(r, false, in) {
		if d := y.DType(); d == ir.Float16 || d == ir.BFloat16 {
			y = ops.Cast(y, ir.Float32)
		}
		trace.AddOutput(fmt.Sprint("out", i), ops.In(r.Graph(), y))
	}
	p.Traces = append(p.Traces, trace)
	if !first {
		return nil
	}
	return m.exportedWeights(p, r, trace)
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
