package layers

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// recurrentLoop runs the cell of a recurrent layer over the steps. All recurrent layers embed it.
type recurrentLoop struct {
	cell     RNNCell
	settings recurrentSettings
	zeros    bool // masked steps give zeros

	spatial int // axes between the steps and the features

	owner *Base
	dtype ir.DType // of the states kept between batches

	kept *keptStates
}

// recurrentLayer is implemented by the layers that have such a loop.
type recurrentLayer interface{ recurrence() *recurrentLoop }

func (l *recurrentLoop) recurrence() *recurrentLoop { return l }

// recurrentSettings holds the fields of a recurrent layer that its loop and its wrappers need.
type recurrentSettings struct{ sequences, state, stateful, backwards bool }

func settingsOf(l Layer) recurrentSettings {
	return recurrentSettings{flagOf(l, "ReturnSequences"), flagOf(l, "ReturnState"), flagOf(l, "Stateful"), flagOf(l, "GoBackwards")}
}

// flagOf reports whether a layer has a field of that name which is true.
func flagOf(l Layer, name string) bool {
	v := reflect.ValueOf(l)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return false
	}
	f := v.FieldByName(name)
	return f.IsValid() && f.Kind() == reflect.Bool && f.Bool()
}

// StateResetter is implemented by layers that can keep states between batches.
type StateResetter interface{ ResetState() error }

// recurrentIgnored lists keys of recurrent layers that Keras writes or used to write and that have no meaning here.
//
//go:noinline
func recurrentIgnored(b *Base) []string {
	return append(b.IgnoredConfig(), "implementation", "use_cudnn", "time_major=null", "states=null", "constants=null", "num_constants=null")
}

// copyFields copies the fields that a layer and its cell share to the cell.
func copyFields(cell, layer Layer) {
	to, from := reflect.ValueOf(cell).Elem(), reflect.ValueOf(layer).Elem()
	for i := range to.NumField() {
		f := to.Type().Field(i)
		if v := from.FieldByName(f.Name); f.IsExported() && f.Type != reflect.TypeFor[Base]() && v.IsValid() {
			to.Field(i).Set(v)
		}
	}
}

// buildLoop builds the loop of a layer over a cell, with the layer's settings.
func (l *recurrentLoop) buildLoop(b *Builder, in []ir.Shape, layer Layer, cell RNNCell) {
	l.cell, l.settings, l.zeros = cell, settingsOf(layer), flagOf(layer, "ZeroOutputForMask")
	if len(in[0]) != 3+l.spatial {
		b.Fail("needs an input (batch, steps, features), received shape %v; add the missing axes or take a layer for images", in[0])
	}
	l.owner, l.dtype, l.kept = b.base, b.policy.Variable, &keptStates{}
	b.BuildMember(l.cell, ints.Concat(in[0][:1], in[0][2:]))
}

// recurrentInputs separates the input, the initial states and the mask. A bool tensor at the end is the mask. Without
// one, the mask that came with x counts, unless there are states, because then Keras ignores it.
func recurrentInputs(in []*ops.Tensor) (x *ops.Tensor, states []*ops.Tensor, mask *ops.Tensor) {
	x, states = in[0], in[1:]
	if n := len(states); n > 0 && states[n-1].DType() == ir.Bool {
		return x, states[:n-1], states[n-1]
	}
	if len(states) > 0 {
		return x, states, nil
	}
	return x, nil, x.Mask()
}

// outputMask is the mask that results with all steps carry: the given one, or that of the input.
func outputMask(in []*ops.Tensor) *ops.Tensor {
	if _, _, mask := recurrentInputs(in); mask != nil {
		return mask
	}
	return in[0].Mask()
}

// Forward runs the steps.
func (l *recurrentLoop) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	needBuilt(c, l.cell)
	x, given, mask := recurrentInputs(in)
	if l.spatial == 0 {
		needRank(x, 3, "(batch, steps, features)")
	}
	step := ints.Concat(x.Shape()[:1], x.Shape()[2:])
	states, kept, zeros := l.initial(c, given, step)
	run := startCell(c, l.cell, step)
	xs := []*ops.Tensor{run.Project(ops.SwapAxes(x.WithMask(nil), 0, 1))} // (steps, batch, ...)
	if mask = stepMask(c, x, mask); mask != nil {
		mask = ops.Transpose(mask, 1, 0)
		for mask.Rank() < 1+states[0].Rank() {
			mask = ops.ExpandDims(mask, -1)
		}
		xs = append(xs, mask)
	}
	last, ys, final := l.scan(c, run, xs, states, zeros)
	for i, v := range kept {
		c.Assign(v, final[i])
	}
	out := []*ops.Tensor{last}
	if l.settings.sequences {
		if l.settings.backwards {
			ys = ops.Flip(ys, 0)
		}
		out[0] = ops.SwapAxes(ys, 0, 1)
	}
	if l.settings.state {
		out = append(out, final...)
	}
	for i := range out {
		out[i] = ops.Cast(out[i], c.ComputeDType())
	}
	return out
}

// stepMask returns the mask of the steps (batch, steps), or nil. A mask with further axes masks a step if all its
// elements do.
func stepMask(c *Context, x, mask *ops.Tensor) *ops.Tensor {
	if mask == nil {
		return nil
	}
	if mask.Rank() < 2 || !dim.MayEqual(mask.Dim(0), x.Dim(0)) || !dim.MayEqual(mask.Dim(1), x.Dim(1)) {
		ops.Failf(c.Graph(), "the mask has shape %v; expected (batch, steps) of the input %v", mask.Shape(), x.Shape())
	}
	mask = ops.Cast(mask, ir.Bool)
	for mask.Rank() > 2 {
		mask = ops.Any(mask, -1)
	}
	return mask
}

// initial returns the initial states: those passed in, those kept from the previous batch, or zeros. kept holds the
// variables that store the last states.
func (l *recurrentLoop) initial(c *Context, given []*ops.Tensor, step ir.Shape) (states []*ops.Tensor, kept distribute.Variables, zeros bool) {
	shapes := stateShapes(c, l.cell, step)
	types := stateTypes(c, l.cell, len(shapes))
	if l.settings.stateful && !c.Probing {
		kept = l.kept.variables(c, l, shapes)
	}
	switch {
	case len(given) > 0:
		checkStates(c, given, shapes)
		states = append(states, given...)
	case kept != nil:
		for _, v := range kept {
			states = append(states, ops.StopGradient(c.Read(v))) // of an earlier call in the same step, too
		}
	default:
		for i, s := range shapes {
			states = append(states, ops.Zeros(c, types[i], s...))
		}
		return states, nil, true
	}
	for i := range states {
		states[i] = ops.Cast(states[i], types[i])
	}
	return states, kept, false
}

// stateTypes returns the types of the n states of a cell: the compute types of the cells of a stack, or else that of
// the cell.
func stateTypes(c *Context, cell RNNCell, n int) []ir.DType {
	stack, ok := cell.(*StackedRNNCells)
	if !ok {
		return slices.Repeat([]ir.DType{attach(cell).dtypePolicy(c).Compute}, n)
	}
	var types []ir.DType
	for _, member := range stack.Cells {
		types = append(types, stateTypes(c, member, len(member.StateSizes()))...)
	}
	return types
}

// scan runs the loop over xs: the projected inputs and, if there is one, the mask (steps, batch, 1...). zeros says that
// the initial states are known to be zero.
func (l *recurrentLoop) scan(c *Context, run CellRun, xs, states []*ops.Tensor, zeros bool) (last, ys *ops.Tensor, final []*ops.Tensor) {
	n, masked := len(states), len(xs) == 2
	// The result of the previous step is carried along if it is needed and is not a state: masked steps repeat it, and
	// without sequences the last one is the layer's result.
	stateSpeaks := run.OutputIsState && (!masked || zeros && !l.zeros)
	carried := !stateSpeaks && (!l.settings.sequences || masked && !l.zeros)
	carry := append([]*ops.Tensor{}, states...)
	if carried {
		shape := states[0].Shape() // of cells with other states than vectors the result is like the states
		if l.spatial == 0 {
			shape = ir.Shape{states[0].Dim(0), l.cell.OutputSize()}
		}
		carry = append(carry, ops.Zeros(c, states[n-1].DType(), shape...)) // of stacked cells the last one's
	}
	step := func(carry, xs []*ops.Tensor) (next, out []*ops.Tensor) {
		y, after := run.Step(xs[0], carry[:n])
		if len(after) != n {
			ops.Failf(c.Graph(), "the cell %s returned %d states for %d", ClassName(l.cell), len(after), n)
		}
		next = append(next, after...)
		if masked {
			for i := range after {
				next[i] = ops.Where(xs[1], after[i], carry[i])
			}
			switch {
			case stateSpeaks:
				y = next[run.OutputState]
			case l.zeros:
				y = ops.Where(xs[1], y, ops.ZerosLike(y))
			default:
				y = ops.Where(xs[1], y, carry[n])
			}
		}
		if carried {
			next = append(next, y)
		}
		if l.settings.sequences {
			out = []*ops.Tensor{y}
		}
		return next, out
	}
	final, stacked := ops.Scan(step, carry, xs, ops.ScanOptions{Reverse: l.settings.backwards})
	switch {
	case l.settings.sequences:
		return nil, stacked[0], final[:n]
	case carried:
		return final[n], nil, final[:n]
	}
	return final[run.OutputState], nil, final
}

// ComputeMask passes the mask of the input on to a result with all steps.
func (l *recurrentLoop) ComputeMask(_ *Context, in, out []*ops.Tensor) []*ops.Tensor {
	masks := make([]*ops.Tensor, len(out))
	if l.settings.sequences {
		masks[0] = outputMask(in)
	}
	return masks
}

// MemberAttributes names the cell as Keras files do.
func (l *recurrentLoop) MemberAttributes() []string { return []string{"cell"} }

// ResetState sets the states that a Stateful layer keeps between batches to zero.
func (l *recurrentLoop) ResetState() error {
	if l.kept == nil {
		return nil
	}
	return l.kept.reset()
}

// keptStates holds the states that a stateful layer keeps between batches. There is a variable for each length of a
// replica's part of the batch. Replicas with equal lengths share a variable, of which each replica has its own copy.
type keptStates struct {
	mu     sync.Mutex
	global int // size of the batches; 0 before the first
	byPart map[string]distribute.Variables
}

func (k *keptStates) variables(c *Context, l *recurrentLoop, shapes []ir.Shape) distribute.Variables {
	k.mu.Lock()
	defer k.mu.Unlock()
	global := c.GlobalBatchSize()
	if k.global != 0 && k.global != global {
		ops.Failf(c.Graph(), "a stateful layer needs batches of one size: expected %d examples, received %d; leave out the shorter last batch, or call ResetState before batches of another size", k.global, global)
	}
	k.global = global
	part := fmt.Sprint(global, shapes)
	if k.byPart == nil {
		k.byPart = map[string]distribute.Variables{}
	}
	if vars := k.byPart[part]; vars != nil {
		return vars
	}
	var vars distribute.Variables
	for i, s := range shapes {
		vars = append(vars, distribute.NewVariable(distribute.VariableSpec{
			Name: fmt.Sprint("rnn_state_", i), Shape: s, DType: l.dtype, Frozen: true,
			Synchronization: distribute.OnRead, Owner: l.owner,
		}))
	}
	k.byPart[part] = vars
	return vars
}

func (k *keptStates) reset() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, vars := range k.byPart {
		for _, v := range vars {
			if err := v.SetValue(kernels.NewArray(v.Type())); err != nil {
				return err
			}
		}
	}
	k.global = 0
	return nil
}
