package protocol

import "slices"

// merge returns the updates of a round, in the order in which a step makes its changes: first the assignments and
// additions of the parts, then the gradients, which were computed from assigned values. So no later part reverts what
// gradients of others have changed, and a rule that depends on the values (weight decay, a constraint) sees those on
// which all parts have agreed:
//
//   - of a table that a part assigns rows of, the mean of what the parts assign to a row, or what the first part does
//     if that is how they assign. A part that leaves a row alone counts with the value that it had, as a replica does
//     that keeps its copy. Parts that assign the same value come to that value exactly, and one part to what it has
//     assigned;
//   - what parts add, all of it;
//   - the mean of the gradients, summed in the order of the parts.
func (r *round) merge(parts []int, tables []*Table) []Update {
	var out, gradients []Update
	place := map[uint32]int{} // of a table, in gradients
	scale := 1 / float32(len(parts))
	assigned := r.assigned(parts)
	for _, number := range assigned {
		out = append(out, r.agree(parts, number, tables[number]))
	}
	for _, part := range parts {
		for _, u := range r.parts[part] {
			switch {
			case u.Op != Gradient && u.Op != Naming && slices.Contains(assigned, u.Table):
				continue // it is in what they agree on
			case u.Op != Gradient:
				out = append(out, u)
				continue
			}
			for i := range u.Values {
				u.Values[i] *= scale
			}
			at, known := place[u.Table]
			if !known {
				place[u.Table] = len(gradients)
				gradients = append(gradients, u)
				continue
			}
			addGradient(&gradients[at], u)
		}
	}
	return append(out, gradients...)
}

// addGradient adds the gradient of another part, whose memory it may reuse.
func addGradient(to *Update, u Update) {
	switch {
	case to.Sparse && u.Sparse:
		to.IDs, to.Values = mergeRows(*to, u)
	case to.Sparse:
		addRows(u.Values, *to)
		*to = u
	case u.Sparse:
		addRows(to.Values, u)
	default:
		combine(Add, to.Values, u.Values)
	}
}

// assigned lists the tables to which parts assign, in the order of the assignments.
func (r *round) assigned(parts []int) (tables []uint32) {
	for _, part := range parts {
		for _, u := range r.parts[part] {
			if u.Op.assigns() && !slices.Contains(tables, u.Table) {
				tables = append(tables, u.Table)
			}
		}
	}
	return tables
}

// agree returns the assignment of the rows of a table to which parts assign or add. It is computed in float64, in which
// the sum of equal numbers is exact.
func (r *round) agree(parts []int, number uint32, t *Table) Update {
	out := Update{Table: number, Op: Assign, Sparse: true, IDs: []int64{}}
	changes := make([][]Update, len(parts)) // of the table, by part
	voices := len(parts)                    // whose values count
	for i, part := range parts {
		for _, u := range r.parts[part] {
			if u.Table != number || u.Op == Gradient || u.Op == Naming {
				continue
			}
			if changes[i] = append(changes[i], u); u.Op == AssignFirst {
				voices = 1
			}
			if !u.Sparse {
				out.Sparse, out.IDs = false, nil
			}
			if out.Sparse {
				out.IDs = append(out.IDs, u.IDs...)
			}
		}
	}
	rows := t.Rows
	if out.Sparse {
		slices.Sort(out.IDs)
		out.IDs = slices.Compact(out.IDs)
		rows = len(out.IDs)
	}
	out.Values = make([]float32, rows*t.Width)
	sum, more, own := make([]float64, t.Width), make([]float64, t.Width), make([]float64, t.Width)
	for k := range rows {
		id := int64(k)
		if out.Sparse {
			id = out.IDs[k]
		}
		before := t.current(id)
		clear(sum)
		clear(more)
		for i := range parts {
			value := before
			clear(own)
			for j := range changes[i] {
				value = changes[i][j].ofRow(id, value, own)
			}
			for j, v := range own {
				if more[j] += v; i < voices {
					sum[j] += float64(value[j])
				}
			}
		}
		for j, v := range sum {
			out.Values[k*t.Width+j] = float32(v/float64(voices) + more[j])
		}
	}
	return out
}

// ofRow returns what the update assigns to a row, or else the value that it is given, and collects what is added to it
// since.
func (u *Update) ofRow(id int64, value []float32, added []float64) []float32 {
	at, known := int(id), true
	if u.Sparse {
		at, known = slices.BinarySearch(u.IDs, id)
	}
	if !known {
		return value
	}
	values := u.Values[at*len(added) : (at+1)*len(added)]
	if u.Op.assigns() {
		clear(added)
		return values
	}
	for j, v := range values {
		added[j] += float64(v)
	}
	return value
}

// current returns the values of a row, valid until the table changes; they must not be modified. In a dynamic table it
// creates the row, which is about to be assigned.
func (t *Table) current(id int64) []float32 {
	if t.Dynamic {
		return t.rows.row(t.rows.take(id, t.Step))[:t.Width]
	}
	return t.row(int(id))
}

// addRows adds a sparse gradient to a dense one.
func addRows(all []float32, rows Update) {
	if len(rows.IDs) == 0 {
		return
	}
	width := len(rows.Values) / len(rows.IDs)
	for i, id := range rows.IDs {
		combine(Add, all[int(id)*width:(int(id)+1)*width], rows.Values[i*width:(i+1)*width])
	}
}

// mergeRows adds two sparse gradients.
func mergeRows(a, b Update) (ids []int64, values []float32) {
	width := 0
	switch {
	case len(a.IDs) > 0:
		width = len(a.Values) / len(a.IDs)
	case len(b.IDs) > 0:
		width = len(b.Values) / len(b.IDs)
	}
	i, j := 0, 0
	for i < len(a.IDs) || j < len(b.IDs) {
		first := j == len(b.IDs) || i < len(a.IDs) && a.IDs[i] <= b.IDs[j]
		second := i == len(a.IDs) || j < len(b.IDs) && b.IDs[j] <= a.IDs[i]
		n := len(values)
		if first {
			ids, values = append(ids, a.IDs[i]), append(values, a.Values[i*width:(i+1)*width]...)
			i++
		}
		if second {
			row := b.Values[j*width : (j+1)*width]
			if first {
				combine(Add, values[n:], row)
			} else {
				ids, values = append(ids, b.IDs[j]), append(values, row...)
			}
			j++
		}
	}
	return ids, values
}
