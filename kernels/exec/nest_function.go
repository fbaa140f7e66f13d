package exec

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// NestFunction is replica code with structures for arguments and results, as tf.distribute.Strategy.run takes it:
//
//	f := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any {
//		x := args[0].(*ops.Tensor)
//		return map[string]any{"sum": ops.Sum(x), "twice": []any{ops.Add(x, x)}}
//	})
//	result, err := f.Run(ctx, perReplica)
//
// Structures are map[string]any and []any. It is traced once for each structure and combination of types of its
// arguments.
type NestFunction struct {
	strategy Strategy
	f        func(r *Replica, args ...any) any

	mu        sync.Mutex
	functions map[string]*nestFunction
}

// nestFunction serves one structure of arguments.
type nestFunction struct {
	fn   *Function
	args []any // of the current call: tracing takes from it what is not fed
}

// NewNestFunction prepares f for a strategy.
func NewNestFunction(s Strategy, f func(r *Replica, args ...any) any) *NestFunction {
	return &NestFunction{strategy: inside(s), f: f, functions: map[string]*nestFunction{}}
}

// argument and result leaves stand for tensors in structures.
type (
	argument struct{ index int }
	result   struct{ index, input int } // input: the argument that is returned unchanged, or -1
)

// Run calls the function on every replica. Leaves of the arguments that are PerReplica are unwrapped: each replica gets
// its own value. A kernels.Array goes to all replicas. Variables and other Go values are passed on unchanged when the
// function is traced.
//
// In the result, tensors become PerReplica. An array that was passed to all replicas and is returned unchanged is
// returned without PerReplica. So are other Go values if they are equal on all replicas; otherwise they become
// PerReplicaObjects. Replicas must return equal structures.
func (f *NestFunction) Run(ctx context.Context, args ...any) (any, error) {
	n := len(f.strategy.Devices())
	var values []PerReplica
	key := ""
	shape, err := MapStructure(any(args), func(path string, leaf any) (any, error) {
		v := asValue(leaf)
		if v == nil {
			key += fmt.Sprintf("%s %T %s;", path, leaf, identity(leaf))
			return leaf, nil
		}
		if err := CheckValue("Run: argument "+path, v, n); err != nil {
			return nil, err
		}
		values = append(values, v)
		key += path + ";"
		return argument{len(values) - 1}, nil
	})
	if err != nil {
		return nil, err
	}
	inst, fn, err := f.acquire(key, shape.([]any), values)
	if err != nil {
		return nil, err
	}
	defer fn.Release(inst)
	for i := range n {
		for k, v := range values {
			if err := inst.Input(i, k).Write(v[min(i, len(v)-1)].Data); err != nil {
				return nil, err
			}
		}
	}
	if err := inst.Run(ctx, fn.Seed, fn.steps.Add(1)-1); err != nil {
		f.strategy.Placement().Fail(err)
		return nil, err
	}
	return inst.structure(values)
}

// identity identifies Go values: by address if they have one, otherwise by their contents.
func identity(v any) string {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Chan, reflect.Map, reflect.UnsafePointer:
		return fmt.Sprintf("%#x", r.Pointer())
	}
	return fmt.Sprintf("%#v", v)
}

// acquire returns an instance for the arguments.
func (f *NestFunction) acquire(key string, shape []any, values []PerReplica) (*Instance, *Function, error) {
	n := len(f.strategy.Devices())
	types, sizes := make([][]ir.Type, n), make([]int, n)
	for i := range n {
		for k, v := range values {
			t := v[min(i, len(v)-1)].Type
			types[i] = append(types[i], t)
			if k == 0 && len(t.Shape) > 0 {
				sizes[i] = t.Shape[0]
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	nf := f.functions[key]
	if nf == nil {
		nf = &nestFunction{args: shape}
		nf.fn = NewFunction(f.strategy, "run", func(r *Replica, in []*ops.Tensor) []*ops.Tensor { return f.trace(r, nf.args, in) })
		f.functions[key] = nf
	}
	nf.args = shape
	inst, err := nf.fn.acquireBatch(types, sizes)
	return inst, nf.fn, err
}

// trace calls the function with tensors in place of the arguments and records the structure of its result.
func (f *NestFunction) trace(r *Replica, shape []any, in []*ops.Tensor) []*ops.Tensor {
	args, _ := MapStructure(any(shape), func(_ string, leaf any) (any, error) {
		if a, ok := leaf.(argument); ok {
			return in[a.index], nil
		}
		return leaf, nil
	})
	var returned any
	guarded(r, func() { returned = f.f(r, args.([]any)...) })
	var out []*ops.Tensor
	r.result, _ = MapStructure(returned, func(_ string, leaf any) (any, error) {
		t, ok := leaf.(*ops.Tensor)
		if !ok || t == nil {
			return leaf, nil
		}
		input := -1
		for i, x := range in {
			if x == t {
				input = i
			}
		}
		out = append(out, t)
		return result{len(out) - 1, input}, nil
	})
	return out
}

// structure combines the results of all replicas.
func (inst *Instance) structure(values []PerReplica) (any, error) {
	parts := make([]any, len(inst.replicas))
	for i, p := range inst.owner.programs {
		parts[i] = p.result
	}
	return merge("", parts, func(_ string, leaves []any) (any, error) {
		first, ok := leaves[0].(result)
		if !ok {
			if isSame(leaves) {
				return leaves[0], nil
			}
			return PerReplicaObjects(leaves), nil
		}
		if first.input >= 0 && len(values[first.input]) == 1 && len(leaves) > 1 && isSame(leaves) {
			return values[first.input][0], nil
		}
		out := make(PerReplica, len(leaves))
		for i, leaf := range leaves {
			b := inst.Output(i, leaf.(result).index)
			out[i] = kernels.NewArray(b.Type())
			if err := b.Read(out[i].Data); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// Close frees the memory of the compiled programs.
func (f *NestFunction) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, nf := range f.functions {
		nf.fn.Close()
	}
}
