package keras

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/keras/onnx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// traceLength stands for axes other than the batch that are open, where a program is only to be looked at.
const traceLength = 64

// InferenceProgram returns what a built model computes for a batch of the given size when it predicts, before any backend works on it:
// for printing, drawing and counting. Its inputs are those of the model, then its variables by their paths; a node's Scope is the path
// of the layer that made it. Open axes other than the batch have the length 64.
func (m *Model) InferenceProgram(batch int) (*ir.Program, error) {
	if batch < 1 {
		return nil, fmt.Errorf("keras: InferenceProgram: a batch of %d; expected at least 1", batch)
	}
	m.mu.Lock()
	inputs := slices.Clone(m.inputTypes)
	built := m.placed
	m.mu.Unlock()
	if !built || inputs == nil {
		return nil, fmt.Errorf("keras: InferenceProgram: model %q is not built yet; give it an input shape, call Build, or train it first", m.Name())
	}
	names := m.exportedInputs(inputs)
	p := &onnx.Program{Inputs: make([]onnx.Input, len(inputs))}
	if err := m.traceInference(p, inputs, onnx.Sizes{Batch: batch, Length: traceLength}, false); err != nil {
		return nil, fmt.Errorf("keras: InferenceProgram: %w", err)
	}
	program := p.Traces[0]
	program.Name = m.Name()
	for i, name := range names {
		program.Inputs[i].Name = name
	}
	for i, name := range m.exportedNames(len(program.Outputs)) {
		program.Outputs[i].Name = name
	}
	return program, nil
}
