package keras

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/keras/onnx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// InferenceProgram returns the program of a built model's prediction for the given batch size (0: any), before any
// backend processes it: for printing, drawing and counting. Its inputs are those of the model, followed by its
// variables, named by their paths. A node's Scope is the path of the layer that made it. Open axes are sizes of package
// kernels/ir/dim: "batch", "axis_1" and so on.
func (m *Model) InferenceProgram(batch int) (*ir.Program, error) {
	if batch < 0 {
		return nil, fmt.Errorf("keras: InferenceProgram: a batch of %d; expected a number of examples, or 0 for any", batch)
	}
	m.mu.Lock()
	inputs := slices.Clone(m.inputTypes)
	built := m.placed
	m.mu.Unlock()
	if !built || inputs == nil {
		return nil, fmt.Errorf("keras: InferenceProgram: model %q is not built yet; give it an input shape, call Build, or train it first", m.Name())
	}
	names := m.exportedInputs(inputs)
	p := &onnx.Program{Inputs: names}
	if _, err := m.traceInference(p, inputs, batch); err != nil {
		return nil, prefixed("InferenceProgram", err)
	}
	program := p.Trace
	program.Name = m.Name()
	for i, name := range names {
		program.Inputs[i].Name = name
	}
	for i, name := range m.exportedNames(len(program.Outputs)) {
		program.Outputs[i].Name = name
	}
	return program, nil
}
