package keras

import (
	"slices"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels/ir"
)

// rowMemory holds what a step looks up in one table. Servers on the same host write the rows where the step reads them,
// and read their gradients where the step writes them.
type rowMemory struct {
	ids      []int64 // of all lookups, concatenated
	distinct parameters.Distinction

	rows, grads *parameters.Room
}

// room returns room for n numbers. It replaces the old room if that is too small or was spoiled.
func room(old *parameters.Room, n int) *parameters.Room {
	if old != nil && len(old.Floats) >= n && !old.Spoiled() {
		return old
	}
	if old != nil {
		old.Close()
	}
	return parameters.NewRoom(n)
}

func (m *rowMemory) spoiled() bool {
	return m.rows != nil && m.rows.Spoiled() || m.grads != nil && m.grads.Spoiled()
}

func (m *rowMemory) close() {
	for _, r := range []*parameters.Room{m.rows, m.grads} {
		if r != nil {
			r.Close()
		}
	}
}

// read requests each row that is looked up once. There is room for as many rows as ids, so steps of one batch size
// share a program.
func (m *rowMemory) read(v *parameters.Variable) *parameters.Read {
	m.distinct.Of(m.ids)
	if m.distinct.IDs == nil {
		m.distinct.IDs = []int64{} // none, not all
	}
	n := max(len(m.ids), 1) * v.Width
	m.rows, m.grads = room(m.rows, n), room(m.grads, n)
	return &parameters.Read{Variable: v, IDs: m.distinct.IDs, Values: m.rows.Floats[:0], Room: m.rows}
}

// input returns the rows as an input of the step. The padding after the requested rows is never looked up.
func (m *rowMemory) input(r *parameters.Read) extra {
	t := ir.Type{DType: ir.Float32, Shape: ir.Shape{max(len(m.ids), 1), r.Variable.Width}}
	n := t.Shape.Size()
	if len(r.Values) == 0 || &r.Values[0] == &m.rows.Floats[0] {
		return extra{t, bytesOfFloats(m.rows.Floats[:n]), true}
	}
	// The call failed, and the server may still write into the room.
	own := append(slices.Clone(r.Values), make([]float32, n-len(r.Values))...)
	return extra{t, bytesOfFloats(own), false}
}

// output returns the memory into which the step writes the gradients of the rows.
func (m *rowMemory) output(v *parameters.Variable) []float32 {
	return m.grads.Floats[:max(len(m.ids), 1)*v.Width]
}
