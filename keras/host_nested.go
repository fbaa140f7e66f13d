package keras

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// A model that begins on the host may be part of another one, directly after its inputs or after its layers that run on
// the host. The host stage of the outermost model then runs the host layers of all of them, and the inner model's
// program is called with their results.

// stageOf returns the host stage of a layer that is a model, or nil.
func stageOf(l layers.Layer) *hostStage {
	if m, ok := l.(*Model); ok && m != nil {
		return m.stage()
	}
	return nil
}

// takes reports whether a layer that runs on the host takes t.
func (h *hostStage) takes(t *layers.KerasTensor) bool {
	return slices.ContainsFunc(h.nodes, func(n *layers.Node) bool {
		return slices.ContainsFunc(n.Inputs, func(in *layers.KerasTensor) bool { return in == t || h.fitted[in] == t })
	})
}

// inline adds the calls of the inner model's host stage to this one, for the call n of the model.
func (h *hostStage) inline(n *layers.Node, inner *hostStage, onHost, behind map[*layers.KerasTensor]bool) error {
	if len(inner.rows) > 0 {
		return errors.New("a dynamic embedding must be a layer of the outermost model")
	}
	operands := n.Operands()
	if len(operands) != len(inner.inputs) {
		return fmt.Errorf("the model has %d inputs, received %d", len(inner.inputs), len(operands))
	}
	outer := map[*layers.KerasTensor]*layers.KerasTensor{}
	for i, t := range inner.inputs {
		if outer[t] = operands[i].Tensor; outer[t] == nil {
			return fmt.Errorf("input %q is a constant; make it an input of the outermost model", t.Name())
		}
	}
	for i, call := range inner.nodes {
		in := make([]*layers.KerasTensor, len(call.Inputs))
		for j, t := range call.Inputs {
			declared := t
			if of := inner.fitted[t]; of != nil {
				t = of
			}
			from := outer[t]
			if !onHost[from] {
				return fmt.Errorf("layer %q works on the host, before the outermost model's program; its input must be an input of that model or made by another such layer", layers.Name(call.Layer))
			}
			var err error
			if in[j], err = h.fit(from, declared); err != nil {
				return err
			}
			behind[from] = true
		}
		y := layers.Apply(inner.hosts[i], in...)
		if y.Err() != nil {
			return y.Err()
		}
		made, _ := y.Node()
		h.nodes, h.hosts = append(h.nodes, made), append(h.hosts, inner.hosts[i])
		onHost[y], outer[call.Outputs[0]] = true, y
	}
	for _, t := range inner.fed {
		h.nested[n] = append(h.nested[n], outer[t])
	}
	return nil
}

// fit returns t in the declared rank: a last axis of length 1 may be missing or surplus, as everywhere.
func (h *hostStage) fit(t, declared *layers.KerasTensor) (*layers.KerasTensor, error) {
	shape, err := fittedShape(t.Shape(), declared)
	if err != nil || len(shape) == len(t.Shape()) {
		return t, err
	}
	f := layers.NewInput(t.Name(), t.DType(), shape...)
	h.fitted[f] = t
	return f, nil
}

func fittedShape(shape ir.Shape, declared *layers.KerasTensor) (ir.Shape, error) {
	want := declared.Shape()
	n := len(want)
	fitted := slices.Clone(shape)
	switch {
	case len(shape) == n+1 && shape[n] == 1:
		fitted = fitted[:n]
	case len(shape) == n-1 && want[n-1] == 1:
		fitted = append(fitted, 1)
	}
	fits := len(fitted) == n
	for i := 1; fits && i < n; i++ {
		fits = want[i] == layers.Unknown || fitted[i] == layers.Unknown || want[i] == fitted[i]
	}
	if !fits {
		return nil, fmt.Errorf("input %q expects shape %s, received shape %s", declared.Name(), layers.ShapeString(want), layers.ShapeString(shape))
	}
	return fitted, nil
}

// value reads an input of a host layer: an input of the model, in its declared rank, or a value converted to another
// rank.
func (h *hostStage) value(t *layers.KerasTensor, values map[*layers.KerasTensor]layers.HostArray, given map[*layers.KerasTensor]data.Array) (layers.HostArray, error) {
	of := h.fitted[t]
	if of == nil {
		return hostArray(t, given[t])
	}
	v, ok := values[of]
	if !ok {
		var err error
		if v, err = h.value(of, values, given); err != nil {
			return v, err
		}
		values[of] = v
	}
	v.Shape = slices.Clone(v.Shape)
	if len(v.Shape) > len(t.Shape()) {
		v.Shape = v.Shape[:len(t.Shape())]
	} else {
		v.Shape = append(v.Shape, 1)
	}
	return v, nil
}

// StagedTypes implements [layers.Staged].
func (m *Model) StagedTypes(inputs []ir.Type) (fed []ir.Type, staged bool, err error) {
	h := m.stage()
	if h == nil {
		return nil, false, nil
	}
	if fed, err = h.types(inputs); err != nil {
		return nil, true, fmt.Errorf("%s: %w", m.Name(), err)
	}
	return fed, true, nil
}

// types returns the types of fed for inputs of the given types.
func (h *hostStage) types(inputs []ir.Type) ([]ir.Type, error) {
	if len(inputs) != len(h.inputs) {
		return nil, fmt.Errorf("the model has %d inputs, received %d", len(h.inputs), len(inputs))
	}
	known := map[*layers.KerasTensor]ir.Type{}
	for i, t := range h.inputs {
		if t.IsText() != (inputs[i].DType == ir.Invalid) {
			return nil, fmt.Errorf("input %q takes %s, received %s", t.Name(), t.DTypeName(), layers.NewInput("", inputs[i].DType, inputs[i].Shape...).DTypeName())
		}
		known[t] = inputs[i]
	}
	for i, n := range h.nodes {
		in := make([]ir.Type, len(n.Inputs))
		for j, t := range n.Inputs {
			of := t
			if f := h.fitted[t]; f != nil {
				of = f
			}
			shape, err := fittedShape(known[of].Shape, t)
			if err != nil {
				return nil, err
			}
			in[j] = ir.Type{DType: known[of].DType, Shape: shape}
		}
		out, err := layers.InferTypes(h.hosts[i], in)
		if err != nil {
			return nil, err
		}
		known[n.Outputs[0]] = out[0]
	}
	fed := make([]ir.Type, len(h.fed))
	for i, t := range h.fed {
		fed[i] = known[t]
		if fed[i].Shape == nil { // the mask of a dynamic embedding
			fed[i] = ir.Type{DType: t.DType(), Shape: t.Shape()}
		}
	}
	return fed, nil
}

// callStaged calls the program of a nested model with the results of the host stage.
func (h *hostStage) callStaged(c *layers.Context, n *layers.Node, value func(*layers.KerasTensor) *ops.Tensor) []*ops.Tensor {
	in := make([]*ops.Tensor, len(h.nested[n]))
	for i, t := range h.nested[n] {
		in[i] = value(t)
	}
	before := c.Staged
	c.Staged = n.Layer
	defer func() { c.Staged = before }()
	return n.InvokeOn(c, in...)
}

// refuseUnstaged fails if a model that begins on the host is called within another layer or model that has not run its
// host stage.
func (m *Model) refuseUnstaged(c *layers.Context) {
	if h := m.stage(); h != nil && c.Depth() > 1 && c.Staged != any(m) {
		ops.Failf(c.Graph(), "model %q begins with %q, which works on the host; inside another model it must come right after the inputs of a Functional or Sequential model, or after layers that work on the host themselves",
			m.Name(), layers.Name(h.nodes[0].Layer))
	}
}
