package keras

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// Dynamic embeddings belong to the host stage: the program takes the rows of a batch as an input, and a training step
// returns their gradient, with which the table is updated after the step. So they work under every strategy of one
// process, and with rows on parameter servers.

// rowInput is a call of a dynamic embedding, with the inputs of the program that hold its rows and its mask.
type rowInput struct {
	layer *layers.Embedding
	node  *layers.Node
	at    int // index among the program's inputs
	mask  int // index among the program's inputs; -1: none
}

// rowBatch is what one call has looked up for a batch.
type rowBatch struct {
	rowInput
	keys layers.BatchKeys
	seen []uint64 // see parameters.Read
}

// rowSource looks up rows for the keys of each of the batches; nil means the tables of this process.
type rowSource func(batches []rowBatch) ([][]float32, error)

// findRows lists the calls of dynamic embeddings, whose results are inputs of the program, and adds their masks to
// these inputs.
func (h *hostStage) findRows() error {
	made := map[*layers.KerasTensor]bool{}
	for _, n := range h.nodes {
		e, ok := layers.IsDynamic(n.Layer)
		if !ok {
			if slices.ContainsFunc(n.Inputs, func(t *layers.KerasTensor) bool { return made[t] }) {
				return fmt.Errorf("layer %q works on the host and stands behind a dynamic embedding, which must be the last one that does", layers.Name(n.Layer))
			}
			continue
		}
		made[n.Outputs[0]] = true
		at := slices.Index(h.fed, n.Outputs[0])
		if at < 0 {
			return fmt.Errorf("layer %q works on the host and comes after the dynamic embedding %q, which must be the last one that does", "another", layers.Name(e))
		}
		h.rows = append(h.rows, rowInput{layer: e, node: n, at: at, mask: -1})
	}
	for i := range h.rows {
		if r := &h.rows[i]; r.layer.MaskZero {
			r.mask = len(h.fed)
			h.fed = append(h.fed, layers.NewInput(layers.Name(r.layer)+"_mask", ir.Bool, r.node.Inputs[0].Shape()...))
		}
	}
	return nil
}

// masked attaches the masks to the rows among the program's inputs.
func (h *hostStage) masked(inputs []*ops.Tensor) []*ops.Tensor {
	for _, r := range h.rows {
		if r.mask >= 0 {
			inputs[r.at] = inputs[r.at].WithMask(inputs[r.mask])
		}
	}
	return inputs
}

// lookUp fills in the rows of a batch and their masks.
func (h *hostStage) lookUp(values map[*layers.KerasTensor]layers.HostArray, fed []data.Array, into *parts) error {
	into.keyed = into.keyed[:0]
	for _, r := range h.rows {
		keys, err := r.layer.Keys(values[r.node.Inputs[0]])
		if err != nil {
			return err
		}
		into.keyed = append(into.keyed, rowBatch{rowInput: r, keys: keys})
	}
	source := into.rowsFrom
	if source == nil {
		source = localRows
	}
	rows, err := source(into.keyed)
	if err != nil {
		return err
	}
	for i := range into.keyed {
		b := &into.keyed[i]
		shape := append(slices.Clone(b.keys.Shape), b.layer.OutputDim)
		fed[b.at] = data.Must(data.ArrayOf(b.keys.Gather(rows[i], b.layer.OutputDim), shape...))
		if b.mask >= 0 {
			fed[b.mask] = data.Must(data.ArrayOf(b.keys.Mask, b.keys.Shape...))
		}
	}
	return nil
}

func localRows(batches []rowBatch) ([][]float32, error) {
	out := make([][]float32, len(batches))
	for i := range batches {
		table := batches[i].layer.Table()
		if table == nil {
			return nil, fmt.Errorf("the dynamic embedding %q has no table yet", layers.Name(batches[i].layer))
		}
		var err error
		if out[i], err = table.Lookup(batches[i].keys.Keys); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rowInputs lists the calls of dynamic embeddings that are trained.
func (m *Model) rowInputs() []rowInput {
	h := m.stage()
	if h == nil || len(h.rows) == 0 {
		return nil
	}
	var out []rowInput
	for _, r := range h.rows {
		if m.compiled.trains(r.layer) {
			out = append(out, r)
		}
	}
	return out
}

// dynamicLayers lists the dynamic embeddings of the model, each once.
func (m *Model) dynamicLayers() []*layers.Embedding {
	var out []*layers.Embedding
	if h := m.stage(); h != nil {
		for _, r := range h.rows {
			if !slices.Contains(out, r.layer) {
				out = append(out, r.layer)
			}
		}
	}
	return out
}

// prepareTables makes the tables ready for training by the optimizer.
func (m *Model) prepareTables() error {
	for _, l := range m.dynamicLayers() {
		if !m.compiled.trains(l) {
			continue
		}
		if m.onServers() == nil && m.strategy.NumReplicasInSync() != len(m.strategy.Devices()) {
			return fmt.Errorf("the dynamic embedding %q has its rows in one process, and this strategy has several; train it under ParameterServerStrategy, or in one process", layers.Name(l))
		}
		rule, err := m.tableRule(l)
		if err == nil {
			err = l.Table().SetRule(rule)
		}
		if err != nil {
			return fmt.Errorf("the dynamic embedding %q: %w", layers.Name(l), err)
		}
	}
	return nil
}

func (m *Model) tableRule(l *layers.Embedding) (parameters.Rule, error) {
	rule, err := optimizers.TableRule(m.compiled.optimizer)
	rule.Lazy = !l.DenseUpdates
	return rule, err
}

// rowSources are the variables and rows that a loss is differentiated with respect to.
type rowSources struct {
	variables distribute.Variables
	rows      []*ops.Tensor
}

// Tensors implements [ops.Sources].
func (s rowSources) Tensors(g *ops.Graph) []*ops.Tensor {
	return append(s.variables.Tensors(g), s.rows...)
}

// EarlierTensors returns the values of the variables before they were assigned; see
// [distribute.Variables.EarlierTensors].
func (s rowSources) EarlierTensors(g *ops.Graph) [][]*ops.Tensor {
	return s.variables.EarlierTensors(g)
}

// rowsOf selects the rows among the program's inputs.
func (m *Model) rowsOf(x []*ops.Tensor) []*ops.Tensor {
	var out []*ops.Tensor
	for _, r := range m.rowInputs() {
		if r.at < len(x) {
			out = append(out, x[r.at])
		}
	}
	return out
}

// rowGradients returns the gradients of rows as a step outputs them: zeros for rows that the loss does not depend on.
func rowGradients(rows, grads []*ops.Tensor) []*ops.Tensor {
	out := make([]*ops.Tensor, len(rows))
	for i, x := range rows {
		if grads == nil || grads[i] == nil {
			out[i] = ops.Cast(ops.ZerosLike(x), ir.Float32)
		} else {
			out[i] = ops.Cast(grads[i], ir.Float32)
		}
	}
	return out
}

// rowUpdate is what a step does to one table.
type rowUpdate struct {
	layer *layers.Embedding
	keys  []int64
	names []string
	grads []float32
	seen  []uint64
}

// rowUpdates sums the gradients that a step returned, from output number first on, for equal keys in all calls of a
// layer.
func (m *Model) rowUpdates(inst *distribute.Instance, p *parts, first int, sizes []int) ([]rowUpdate, error) {
	var out []rowUpdate
	at := first
	for _, b := range p.keyed {
		if !m.compiled.trains(b.layer) {
			continue
		}
		width := b.layer.OutputDim
		perExample := 0
		if len(b.keys.Places) > 0 {
			perExample = len(b.keys.Places) / p.rows() * width
		}
		var all []float32
		for replica, n := range sizes {
			o := inst.Output(replica, at)
			part := make([]float32, o.Type().Shape.Size())
			if err := o.Read(bytesOfFloats(part)); err != nil {
				return nil, err
			}
			if len(part) < n*perExample {
				return nil, errors.New("the gradient of rows is shorter than the batch")
			}
			all = append(all, part[:n*perExample]...) // without padding
		}
		at++
		u := rowUpdate{b.layer, b.keys.Keys, b.keys.Names, parameters.SumRows(len(b.keys.Keys), b.keys.Places, width, all), b.seen}
		if i := slices.IndexFunc(out, func(o rowUpdate) bool { return o.layer == b.layer }); i >= 0 {
			out[i].merge(&u)
		} else {
			out = append(out, u)
		}
	}
	return out, nil
}

// merge adds the update of another call of the layer.
func (u *rowUpdate) merge(o *rowUpdate) {
	keys, places := parameters.Distinct(slices.Concat(u.keys, o.keys))
	u.grads = parameters.SumRows(len(keys), places, u.layer.OutputDim, slices.Concat(u.grads, o.grads))
	if u.names != nil {
		names := make([]string, len(keys))
		for i, name := range slices.Concat(u.names, o.names) {
			names[places[i]] = name
		}
		u.names = names
	}
	u.keys = keys
}

// trainRows updates the tables of this process with the gradients that a step returned.
func (m *Model) trainRows(inst *distribute.Instance, p *parts, f *binder) error {
	if len(m.rowInputs()) == 0 {
		return nil
	}
	updates, err := m.rowUpdates(inst, p, 0, f.sizes)
	if err != nil {
		return err
	}
	for _, u := range updates {
		table := u.layer.Table()
		rate, err := optimizers.ServerRate(m.compiled.optimizer, int64(table.State().Step))
		if err == nil {
			err = table.Gradient(rate, u.keys, u.names, u.grads)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
