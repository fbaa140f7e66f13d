package coordinator

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels/cpu/rows"
	"github.com/gokeras/gokeras/kernels/ir"
)

// VariableSpec describes a variable on the servers.
type VariableSpec struct {
	Name  string
	Shape ir.Shape // of float32
	// Value is the initial value, row-major; nil means Init.
	Value []float32
	Init  parameters.Init
	// Rule updates the variable from gradients; the zero value accepts no gradients.
	Rule parameters.Rule
	// Dynamic creates a table with a row of Shape for each key that is used.
	Dynamic bool
	MaxRows int
	MaxAge  uint64
}

// Variable is a variable on the servers. The partitioner of the strategy cuts it into shards; to its users it is a
// single variable.
type Variable struct {
	c    *ClusterCoordinator
	spec VariableSpec

	mu     sync.Mutex
	remote *parameters.Variable
}

// Variable creates a variable. If an earlier coordinator of this job has created it, it keeps its value. On workers the
// result stands for the variable that the coordinator creates. All processes must make the same call.
func (c *ClusterCoordinator) Variable(ctx context.Context, spec VariableSpec) (*Variable, error) {
	v := &Variable{c: c, spec: spec}
	if !c.Coordinates() {
		return v, nil
	}
	s := parameters.Spec{Name: spec.Name, Shape: spec.Shape, Rule: spec.Rule, Init: spec.Init, Dynamic: spec.Dynamic, MaxRows: spec.MaxRows, MaxAge: spec.MaxAge}
	if spec.Value != nil {
		if len(spec.Value) != spec.Shape.Size() {
			return nil, fmt.Errorf("coordinator: variable %s of shape %v has a first value of %d numbers; expected %d", spec.Name, spec.Shape, len(spec.Value), spec.Shape.Size())
		}
		s.Value = func() ([]float32, error) { return spec.Value, nil }
	}
	var err error
	v.remote, _, err = c.job.Create(ctx, s)
	return v, err
}

// find returns the variable as the job knows it.
func (v *Variable) find(ctx context.Context) (*parameters.Variable, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.remote == nil {
		remote, err := v.c.job.Find(ctx, v.spec.Name)
		if err != nil {
			return nil, err
		}
		v.remote = remote
	}
	return v.remote, nil
}

// Name returns the name in the spec.
func (v *Variable) Name() string { return v.spec.Name }

// Shards lists the shards and their servers; nil on a worker that has not used the variable.
func (v *Variable) Shards() []parameters.Shard {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.remote == nil {
		return nil
	}
	return v.remote.Shards
}

// Read returns the value, row-major.
func (v *Variable) Read(ctx context.Context) ([]float32, error) {
	remote, err := v.find(ctx)
	if err != nil {
		return nil, err
	}
	r := &parameters.Read{Variable: remote}
	err = v.c.job.Pull(ctx, r)
	return r.Values, err
}

// Lookup returns rows, one for each id: the sparse read of an embedding. Each row is fetched once, even if ids repeat.
func (v *Variable) Lookup(ctx context.Context, ids []int64) ([]float32, error) {
	remote, err := v.find(ctx)
	if err != nil {
		return nil, err
	}
	memory := takeScratch()
	defer memory.release()
	out, _, err := lookup(ctx, v.c.job, remote, memory.takePlan().of(ids), nil, memory)
	return out, err
}

// lookupPlan maps ids to rows. The gradient of a lookup has the same ids, so closures keep the last plan.
type lookupPlan struct {
	ids []int64
	parameters.Distinction
}

func (p *lookupPlan) of(ids []int64) *lookupPlan {
	p.ids = append(p.ids[:0], ids...)
	if p.Of(ids); p.IDs == nil {
		p.IDs = []int64{} // none, not all
	}
	return p
}

// readRows reads the rows of a plan, each once, into memory.
func readRows(ctx context.Context, job parameters.Job, v *parameters.Variable, plan *lookupPlan, memory *scratch) (*parameters.Read, error) {
	room := memory.room(len(plan.IDs) * v.Width)
	r := &parameters.Read{Variable: v, IDs: plan.IDs, Values: room.Floats[:0], Room: room}
	return r, job.Pull(ctx, r)
}

// lookup reads rows into out if it is large enough; memory holds the received rows.
func lookup(ctx context.Context, job parameters.Job, v *parameters.Variable, plan *lookupPlan, out []float32, memory *scratch) ([]float32, *parameters.Read, error) {
	r, err := readRows(ctx, job, v, plan, memory)
	if err != nil {
		return nil, nil, err
	}
	n := len(plan.Places) * v.Width
	out = slices.Grow(out[:0], n)[:n]
	rows.Take(out, r.Values, v.Width, plan.Places)
	return out, r, nil
}

// Export returns the keys and rows of a dynamic table.
func (v *Variable) Export(ctx context.Context) (keys []int64, rows []float32, err error) {
	remote, err := v.find(ctx)
	if err != nil {
		return nil, nil, err
	}
	return v.c.job.Export(ctx, remote)
}

// Assign replaces the value; AssignAdd adds to it, and AssignSub subtracts from it. One number stands for all elements.
// These methods are for the coordinator; closures have their own.
func (v *Variable) Assign(ctx context.Context, values ...float32) error {
	return v.change(ctx, parameters.Assign, 1, values)
}

// AssignAdd adds to the value; see Assign.
func (v *Variable) AssignAdd(ctx context.Context, values ...float32) error {
	return v.change(ctx, parameters.Add, 1, values)
}

// AssignSub subtracts from the value; see Assign.
func (v *Variable) AssignSub(ctx context.Context, values ...float32) error {
	return v.change(ctx, parameters.Add, -1, values)
}

// ScatterAdd adds rows, one for each id; of equal ids all are added. ScatterUpdate replaces rows.
func (v *Variable) ScatterAdd(ctx context.Context, ids []int64, rows []float32) error {
	return v.scatter(ctx, parameters.Add, ids, rows)
}

// ScatterUpdate replaces rows; ids must be distinct.
func (v *Variable) ScatterUpdate(ctx context.Context, ids []int64, rows []float32) error {
	return v.scatter(ctx, parameters.Assign, ids, rows)
}

func (v *Variable) change(ctx context.Context, op parameters.Op, sign float32, values []float32) error {
	remote, err := v.find(ctx)
	if err != nil {
		return err
	}
	all, err := spread(remote, sign, values)
	if err != nil {
		return err
	}
	return v.c.job.Change(ctx, parameters.Change{Variable: remote, Op: op, Values: all})
}

func (v *Variable) scatter(ctx context.Context, op parameters.Op, ids []int64, rows []float32) error {
	remote, err := v.find(ctx)
	if err != nil {
		return err
	}
	memory := takeScratch()
	defer memory.release()
	change, err := scattered(remote, op, memory.takePlan().of(ids), rows, memory)
	if err != nil {
		return err
	}
	return v.c.job.Change(ctx, change)
}

// spread expands values to the size of the variable.
func spread(v *parameters.Variable, sign float32, values []float32) ([]float32, error) {
	n := v.Rows() * v.Width
	if len(values) != n && len(values) != 1 {
		return nil, fmt.Errorf("coordinator: variable %s of shape %v takes %d numbers, or one for all; received %d", v.Name, v.Shape, n, len(values))
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = sign * values[min(i, len(values)-1)]
	}
	return out, nil
}

// scattered makes a change of rows. It sums rows of equal ids in memory.
func scattered(v *parameters.Variable, op parameters.Op, plan *lookupPlan, rows []float32, memory *scratch) (parameters.Change, error) {
	if len(rows) != len(plan.ids)*v.Width {
		return parameters.Change{}, fmt.Errorf("coordinator: variable %s has rows of %d numbers; received %d numbers for %d rows", v.Name, v.Width, len(rows), len(plan.ids))
	}
	if op == parameters.Assign && len(plan.IDs) != len(plan.ids) {
		return parameters.Change{}, fmt.Errorf("coordinator: variable %s: a row is to be replaced twice; name each once", v.Name)
	}
	room := memory.room(len(plan.IDs) * v.Width)
	sums := parameters.SumRowsTo(room.Floats, len(plan.IDs), plan.Places, v.Width, rows)
	return parameters.Change{Variable: v, Op: op, IDs: plan.IDs, Values: sums, Room: room}, nil
}
