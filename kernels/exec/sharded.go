package exec

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// No replica holds all of a sharded variable. Its elements, row-major, are cut into equal pieces, one for each replica
// of all processes; the last ones are padded with zeros. Readers of the variable get the whole value, gathered. An
// assignment takes the whole value, of which each replica keeps its piece. Optimizers work on the pieces if their rules
// allow that.

// pieceOf returns the number of elements that each of n replicas keeps of a variable with size elements.
func pieceOf(size, n int) int { return (size + n - 1) / n }

// shards reports whether the variable is cut over the replicas of a placement. A variable with fewer elements than
// replicas is not.
func (p *Placement) shards(v *Variable) bool {
	return p != nil && p.ShardOptimizerState && v.spec.Sharded && p.Total > 1 && v.Size() >= p.Total
}

// storedType is the type of the copies of the variable.
func (p *Placement) storedType(v *Variable) ir.Type {
	if p.shards(v) {
		return ir.Type{DType: v.spec.DType, Shape: ir.Shape{pieceOf(v.Size(), p.Total)}}
	}
	return v.Type()
}

// Sharded reports whether each replica holds only a piece of the variable. That is so if VariableSpec.Sharded allows it
// and the variable's strategy shards the state of optimizers.
func (v *Variable) Sharded() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.strategy != nil && v.strategy.Placement().shards(v)
}

// ReadingMeets reports whether Value exchanges data with other processes, so that all must call it: these hold copies
// of a variable that is synchronized on read, or pieces of a sharded one, or run replicas together.
func (v *Variable) ReadingMeets() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.strategy != nil && v.strategy.Placement().Hosts != nil {
		return true
	}
	if v.strategy == nil || v.strategy.Placement().Group == nil {
		return false
	}
	return v.spec.Synchronization == OnRead || v.strategy.Placement().shards(v)
}

// writePieces stores a value piece by piece. The lock is held.
func (v *Variable) writePieces(a kernels.Array) error {
	at := v.strategy.Placement()
	bytes := at.storedType(v).Bytes()
	for i, c := range v.copies {
		if err := c.Write(pieceBytes(a.Data, at.First+i, bytes)); err != nil {
			return fmt.Errorf("distribute: variable %s: %w", v.Path(), err)
		}
	}
	v.whole.Store(nil)
	if at.Group != nil {
		whole := kernels.Array{Type: a.Type, Data: append([]byte(nil), a.Data...)}
		v.whole.Store(&whole)
	}
	return nil
}

// pieceBytes cuts piece i out of a value, padded with zeros at its end.
func pieceBytes(data []byte, i, bytes int) []byte {
	low, high := min(i*bytes, len(data)), min((i+1)*bytes, len(data))
	if high-low == bytes {
		return data[low:high]
	}
	piece := make([]byte, bytes)
	copy(piece, data[low:high])
	return piece
}

// readPieces assembles the value; with several processes all must call it. The lock is held.
func (v *Variable) readPieces() (kernels.Array, error) {
	at := v.strategy.Placement()
	bytes := at.storedType(v).Bytes()
	own := make([]byte, bytes*len(v.copies))
	for i, c := range v.copies {
		if err := c.Read(own[i*bytes : (i+1)*bytes]); err != nil {
			return kernels.Array{}, err
		}
	}
	out := kernels.Array{Type: v.Type(), Data: own}
	if at.Group != nil {
		blocks, err := at.Group.AllGather(context.Background(), WorkerCall{Name: "read " + v.Path() + ", which is sharded over the workers: all must save or read it together"}, own)
		if err != nil {
			return out, fmt.Errorf("distribute: variable %s: %w", v.Path(), err)
		}
		out.Data = make([]byte, 0, bytes*at.Total)
		for _, b := range blocks {
			out.Data = append(out.Data, b...)
		}
	}
	if len(out.Data) < v.Type().Bytes() {
		return out, fmt.Errorf("distribute: variable %s: the workers have %d bytes of %v; expected all of them", v.Path(), len(out.Data), v.Type())
	}
	out.Data = out.Data[:v.Type().Bytes()]
	return out, nil
}

// WholeOn returns the value that the process root set last, if no step has changed it since, and otherwise what Value
// returns. All processes must call it.
func (v *Variable) WholeOn(ctx context.Context, root int) (kernels.Array, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.strategy == nil {
		if err := v.place(v.fallback(), 0); err != nil {
			return kernels.Array{}, err
		}
	}
	whole := v.pending
	if v.copies != nil {
		whole = v.whole.Load()
	}
	g := v.workers()
	if g != nil {
		flag := kernels.NewArray(ir.Type{DType: ir.Uint8, Shape: ir.Shape{1}})
		if whole != nil {
			flag.Data[0] = 1
		}
		call := WorkerCall{Name: "value of " + v.Path()}
		if err := g.Broadcast(ctx, call, root, []kernels.Array{flag}); err != nil {
			return kernels.Array{}, err
		}
		if flag.Data[0] != 0 {
			a := kernels.NewArray(v.Type())
			if whole != nil {
				copy(a.Data, whole.Data)
			}
			return a, g.Broadcast(ctx, call, root, []kernels.Array{a})
		}
	}
	if err := v.materialize(); err != nil {
		return kernels.Array{}, err
	}
	return v.readPieces()
}

// ShardsState reports whether the replica belongs to a strategy that shards the state of optimizers.
func (r *Replica) ShardsState() bool {
	at := placementOf(r.strategy)
	return at != nil && at.ShardOptimizerState && r.replicas > 1
}

// Sharded reports whether the replicas hold pieces of a variable; see [Replica.ReadShard].
func (r *Replica) Sharded(v *Variable) bool { return placementOf(r.strategy).shards(v) }

// Shard returns this replica's piece of a tensor that all replicas hold: piece i of its elements in order, cut into
// equal pieces of which the last ones are padded with zeros.
func (r *Replica) Shard(x *ops.Tensor) *ops.Tensor {
	n := x.Shape().Size()
	piece := pieceOf(n, r.replicas)
	x = ops.Reshape(x, n)
	if rest := piece*r.replicas - n; rest > 0 {
		x = ops.Pad(x, []int{0}, []int{rest}, 0)
	}
	return ops.DynamicSlice(x, []*ops.Tensor{ops.MultiplyScalar(r.ID(), float64(piece))}, piece)
}

// Unshard is the reverse of [Replica.Shard] for several tensors at once, of the given shapes. Pieces of one element
// type travel together, in buckets of [Placement].BytesPerPack.
func (r *Replica) Unshard(pieces []*ops.Tensor, shapes []ir.Shape) []*ops.Tensor {
	limit := placementOf(r.strategy).bytesPerPack()
	out := make([]*ops.Tensor, len(pieces))
	for first := 0; first < len(pieces); {
		last, bytes := first, 0
		for last < len(pieces) && pieces[last].DType() == pieces[first].DType() {
			n := pieces[last].Type().Bytes() * r.replicas
			if last > first && bytes+n > limit {
				break
			}
			bytes += n
			last++
		}
		r.unshard(pieces[first:last], shapes[first:last], out[first:last])
		first = last
	}
	return out
}

func (r *Replica) unshard(pieces []*ops.Tensor, shapes []ir.Shape, out []*ops.Tensor) {
	all := ops.AllGather(ops.Concatenate(0, pieces...), 0, r.replicas)
	length := all.Dim(0) / r.replicas
	at := 0
	for i, p := range pieces {
		whole, n := all, p.Dim(0)
		if len(pieces) > 1 {
			whole = ops.Reshape(ops.SliceAxis(ops.Reshape(all, r.replicas, length), 1, at, at+n), n*r.replicas)
		}
		at += n
		out[i] = ops.Reshape(ops.SliceAxis(whole, 0, 0, shapes[i].Size()), shapes[i]...)
	}
}

// ReadShard returns this replica's piece of a sharded variable, without communication.
func (r *Replica) ReadShard(v *Variable) *ops.Tensor {
	e := r.entry(v)
	if !e.sharded {
		return r.Shard(e.current)
	}
	return e.current
}

// AssignShard gives a sharded variable a new value, of which each replica has computed its piece.
func (r *Replica) AssignShard(v *Variable, piece *ops.Tensor) {
	e := r.entry(v)
	if want := placementOf(r.strategy).storedType(v); !e.sharded || !piece.Shape().Equal(want.Shape) {
		ops.Failf(r.graph, "variable %s cannot be assigned a piece of shape %v; expected a sharded variable with pieces of %v", v.Path(), piece.Shape(), want)
	}
	e.giveWay()
	e.replaced = true
	e.current, e.whole, e.assigned = ops.StopGradient(ops.Cast(piece, v.spec.DType)), nil, true
}
