package exec

import "github.com/gokeras/gokeras/keras/ops"

// Lookup returns the rows of a table: result[..., :] = table[ids[...], :]. Where the table lies on parameter servers
// the rows alone come here.
func (r *Replica) Lookup(table *Variable, ids *ops.Tensor) *ops.Tensor {
	if r.lookup != nil {
		if rows := r.lookup(table, ids); rows != nil {
			return rows
		}
	}
	return ops.Embedding(r.Read(table), ids)
}

// SetLookup lets f answer [Replica.Lookup]; what it returns nil for is read from the table as ever.
func (r *Replica) SetLookup(f func(table *Variable, ids *ops.Tensor) *ops.Tensor) { r.lookup = f }

// SetRows lets f say what gradients of a table are taken of, where some of its rows alone are here: these, which
// [Replica.Lookup] returns parts of. nil stands for tables that are here as a whole.
func (r *Replica) SetRows(f func(table *Variable) *ops.Tensor) { r.rows = f }

// rowsOf is the rows that stand for a variable as a source of gradients; nil: it stands for itself.
func (r *Replica) rowsOf(v *Variable) *ops.Tensor {
	if r.rows == nil {
		return nil
	}
	return r.rows(v)
}
