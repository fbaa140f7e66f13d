package exec

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// WorkerGroup connects the processes of a strategy that spans several. All of them make the same calls in the same
// order; combined values have the same bits everywhere. Package distribute/multiworker has the implementation for
// networks and shared memory. It is separate so that programs on one machine do without gRPC.
type WorkerGroup interface {
	// Rank is the number of this process in the group, from 0, and Size the number of processes.
	Rank() int
	Size() int
	// AllReduce combines the values over the processes, in place: [ir.Sum], [ir.Mean], [ir.Max], [ir.Min] or [ir.Prod].
	AllReduce(ctx context.Context, call WorkerCall, kind ir.Kind, values []kernels.Array) error
	// Broadcast replaces the values by those of the process root.
	Broadcast(ctx context.Context, call WorkerCall, root int, values []kernels.Array) error
	// AllGather returns the bytes of every process, by rank. Their numbers may differ.
	AllGather(ctx context.Context, call WorkerCall, data []byte) ([][]byte, error)
	// Agree returns an error on all processes if their calls differ.
	Agree(ctx context.Context, call WorkerCall) error
	// Fail ends what the others wait for with an error that contains the text. It does nothing if err came from the
	// group, because then all know it.
	Fail(err error)
	// Close leaves the group.
	Close() error
}

// WorkerCall says what a collective of processes belongs to. It must be equal on all; if it is not, all get an error
// that shows both.
type WorkerCall struct {
	Name    string
	Program uint64 // checksum of the programs of all replicas; 0: none
}

// GatherNumbers returns the numbers of every worker, by rank.
func GatherNumbers(g WorkerGroup, call WorkerCall, own []int) ([][]int, error) {
	data := make([]byte, 0, 8*len(own))
	for _, n := range own {
		data = binary.LittleEndian.AppendUint64(data, uint64(n))
	}
	call.Name += ": sizes"
	blocks, err := g.AllGather(context.Background(), call, data)
	if err != nil {
		return nil, err
	}
	out := make([][]int, len(blocks))
	for rank, block := range blocks {
		if len(block) != len(data) {
			return nil, fmt.Errorf("worker %d sent %d numbers where this one has %d", rank, len(block)/8, len(own))
		}
		for i := range own {
			out[rank] = append(out[rank], int(binary.LittleEndian.Uint64(block[8*i:])))
		}
	}
	return out, nil
}

// gatherSizes returns the numbers of examples of all replicas.
func gatherSizes(g WorkerGroup, name string, local []int) ([]int, error) {
	parts, err := GatherNumbers(g, WorkerCall{Name: name}, local)
	var all []int
	for _, p := range parts {
		all = append(all, p...)
	}
	return all, err
}

// SumOverWorkers adds up the values of all workers, in place.
func SumOverWorkers(g WorkerGroup, name string, values []float64) error {
	a, err := kernels.FromFloat64s(ir.Float64, ir.Shape{len(values)}, values)
	if err != nil {
		return err
	}
	if err := g.AllReduce(context.Background(), WorkerCall{Name: name}, ir.Sum, []kernels.Array{a}); err != nil {
		return err
	}
	copy(values, a.Float64s())
	return nil
}

// agree makes sure that all workers have traced the same programs, and returns the call that names them from then on.
// Programs without collectives need no agreement: a worker may run them alone. Nor do those of workers that come and
// go, some of which may have traced them earlier: then the first collective finds a difference.
func agree(at *Placement, name string, programs []*tracedProgram) (WorkerCall, error) {
	h := sha256.New()
	meets := false
	for i, p := range programs {
		meets = meets || len(p.calls) > 0
		if i == 0 || p != programs[i-1] {
			h.Write([]byte(p.program.Hash()))
		}
		h.Write([]byte{'.'})
	}
	call := WorkerCall{Name: name, Program: binary.LittleEndian.Uint64(h.Sum(nil))}
	if !meets || at.Elastic {
		return call, nil
	}
	if err := at.Group.Agree(context.Background(), call); err != nil {
		return call, fmt.Errorf("distribute: %s: %w", name, explain(at, name, programs, err))
	}
	return call, nil
}

// typesOfAll returns the input types of the replicas of all processes, from those of this process and the numbers of
// examples of all.
func (f *Function) typesOfAll(types [][]ir.Type, all []int) [][]ir.Type {
	if len(all) == len(types) {
		return types
	}
	first := f.first()
	out := make([][]ir.Type, len(all))
	for i, n := range all {
		if j := i - first; j >= 0 && j < len(types) {
			out[i] = types[j]
			continue
		}
		own := all[first]
		if f.strategy.Placement().Lockstep {
			n = own // all have as many rows as the longest part
		}
		for _, t := range types[0] {
			if len(t.Shape) > 0 && t.Shape[0] == own && n != own {
				t.Shape = append(ir.Shape{n}, t.Shape[1:]...)
			}
			out[i] = append(out[i], t)
		}
	}
	return out
}
