package exec

import "github.com/gokeras/gokeras/keras/ops"

// Lookup returns the rows of a table: result[..., :] = table[ids[...], :]. If the table is on parameter servers, only
// these rows are sent here.
func (r *Replica) Lookup(table *Variable, ids *ops.Tensor) *ops.Tensor {
	if r.lookup != nil {
		if rows := r.lookup(table, ids); rows != nil {
			return rows
		}
	}
	return ops.Embedding(r.Read(table), ids)
}

// SetLookup lets f answer [Replica.Lookup]. If f returns nil, the table itself is read.
func (r *Replica) SetLookup(f func(table *Variable, ids *ops.Tensor) *ops.Tensor) { r.lookup = f }

// SetRows is for tables of which only some rows are here: f returns these rows, which [Replica.Lookup] returns parts
// of, and gradients are taken with respect to them. nil stands for a table that is here as a whole.
func (r *Replica) SetRows(f func(table *Variable) *ops.Tensor) { r.rows = f }

// rowsOf returns the rows that stand for a variable as a source of gradients; nil: the variable stands for itself.
func (r *Replica) rowsOf(v *Variable) *ops.Tensor {
	if r.rows == nil {
		return nil
	}
	return r.rows(v)
}
