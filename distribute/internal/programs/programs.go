// Package programs encodes small programs as text, so that a server can compute a user's function: the program traced
// from the function is sent, not the function.
package programs

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/kernels/ir"
)

// MaxBytes bounds the text of a program.
const MaxBytes = 1 << 20

// ErrProgram is the error for texts that are not programs.
var ErrProgram = errors.New("not a program")

// written is the encoded form of a program.
type written struct {
	Name    string
	Inputs  []input
	Nodes   []node
	Outputs []output
	Hash    string // of the outermost program
}

type input struct {
	Name  string
	Value ir.Value
	Type  ir.Type
}

type node struct {
	Op              ir.Op
	Attrs           ir.Attrs
	Inputs, Outputs []ir.Value
	Scope           string
	Parts           []written // programs among the attributes
}

type output struct {
	Name  string
	Value ir.Value
	Alias int
}

// register registers the types of attributes with gob. That takes time, so it happens on first use.
var register = sync.OnceFunc(func() {
	for _, a := range []ir.Attrs{ir.ConstantAttrs{}, ir.IotaAttrs{}, ir.RngAttrs{}, ir.ConvertAttrs{}, ir.CompareAttrs{}, ir.ReshapeAttrs{}, ir.TransposeAttrs{}, ir.BroadcastAttrs{}, ir.SliceAttrs{},
		ir.PadAttrs{}, ir.AxisAttrs{}, ir.AxesAttrs{}, ir.DynamicSliceAttrs{}, ir.DotAttrs{}, ir.GatherAttrs{}, ir.ScatterAttrs{}, ir.ReduceAttrs{}, ir.CumulativeAttrs{}, ir.SortAttrs{}, ir.TopKAttrs{},
		ir.FourierAttrs{}, ir.ScanAttrs{}, ir.WhileAttrs{}, ir.CondAttrs{}, ir.FactorAttrs{}, ir.ConvAttrs{}, ir.ConvGradAttrs{}, ir.PoolAttrs{}, ir.ResampleAttrs{}, ir.PoolGradAttrs{}, ir.NormAttrs{}, ir.GroupNormAttrs{},
		ir.DropoutAttrs{}, ir.AttentionAttrs{}, ir.RnnAttrs{}, ir.OptimizerAttrs{}, ir.CollectiveAttrs{}, ir.CheckFiniteAttrs{}, ir.PackedDotAttrs{}, ir.PackedEmbeddingAttrs{}} {
		gob.Register(a)
	}
})

// Encode writes a program.
func Encode(p *ir.Program) (string, error) {
	register()
	w := write(p)
	w.Hash = p.Hash()
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(w); err != nil {
		return "", fmt.Errorf("program %q: %w", p.Name, err)
	}
	if b.Len() > MaxBytes {
		return "", fmt.Errorf("program %q takes %d bytes; at most %d can be sent", p.Name, b.Len(), MaxBytes)
	}
	return b.String(), nil
}

func write(p *ir.Program) written {
	w := written{Name: p.Name}
	for _, in := range p.Inputs {
		w.Inputs = append(w.Inputs, input{in.Name, in.Value, p.Type(in.Value)})
	}
	for _, n := range p.Nodes {
		one := node{Op: n.Op, Attrs: n.Attrs, Inputs: n.Inputs, Outputs: n.Outputs, Scope: n.Scope}
		switch a := n.Attrs.(type) {
		case ir.ScanAttrs:
			one.Parts = []written{write(a.Body)}
			a.Body = nil
			one.Attrs = a
		case ir.WhileAttrs:
			one.Parts = []written{write(a.Cond), write(a.Body)}
			a.Cond, a.Body = nil, nil
			one.Attrs = a
		case ir.CondAttrs:
			one.Parts, one.Attrs = []written{write(a.Then), write(a.Else)}, ir.CondAttrs{}
		case ir.FactorAttrs:
			one.Parts = []written{write(a.Definition)}
			a.Definition = nil
			one.Attrs = a
		}
		w.Nodes = append(w.Nodes, one)
	}
	for _, out := range p.Outputs {
		w.Outputs = append(w.Outputs, output(out))
	}
	return w
}

// Decode reads what Encode writes. It checks the program, and that it is the same as the encoded one.
func Decode(text string) (p *ir.Program, err error) {
	register()
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes; at most %d", ErrProgram, len(text), MaxBytes)
	}
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("%w: %v", ErrProgram, r)
		}
	}()
	var w written
	if err := gob.NewDecoder(bytes.NewReader([]byte(text))).Decode(&w); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProgram, err)
	}
	if p, err = w.read(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProgram, err)
	}
	if p.Hash() != w.Hash {
		return nil, fmt.Errorf("%w of this version: its hash is another one; run the same program everywhere", ErrProgram)
	}
	return p, nil
}

// read rebuilds the program operation by operation, which checks it.
func (w *written) read() (*ir.Program, error) {
	p := ir.New(w.Name)
	values := map[ir.Value]ir.Value{}
	find := func(v ir.Value) (ir.Value, error) {
		now, ok := values[v]
		if !ok {
			return 0, fmt.Errorf("%%%d has not been computed", v)
		}
		return now, nil
	}
	for _, in := range w.Inputs {
		values[in.Value] = p.AddInput(in.Name, in.Type)
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		attrs, err := n.attributes()
		if err != nil {
			return nil, err
		}
		var operands []ir.Value
		for _, v := range n.Inputs {
			now, err := find(v)
			if err != nil {
				return nil, err
			}
			operands = append(operands, now)
		}
		results, err := p.Add(n.Scope, n.Op, attrs, operands...)
		if err != nil {
			return nil, err
		}
		if len(results) != len(n.Outputs) {
			return nil, fmt.Errorf("%v has %d results, and %d are named", n.Op, len(results), len(n.Outputs))
		}
		for i, v := range n.Outputs {
			values[v] = results[i]
		}
	}
	for _, out := range w.Outputs {
		now, err := find(out.Value)
		if err != nil {
			return nil, err
		}
		p.Outputs = append(p.Outputs, ir.Output{Name: out.Name, Value: now, Alias: out.Alias})
	}
	return p, p.Verify()
}

// attributes rebuilds the attributes from their parts.
func (n *node) attributes() (ir.Attrs, error) {
	var parts []*ir.Program
	for i := range n.Parts {
		p, err := n.Parts[i].read()
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	wanted := 0
	switch n.Attrs.(type) {
	case ir.ScanAttrs, ir.FactorAttrs:
		wanted = 1
	case ir.WhileAttrs, ir.CondAttrs:
		wanted = 2
	}
	if len(parts) != wanted {
		return nil, fmt.Errorf("%v has %d programs; expected %d", n.Op, len(parts), wanted)
	}
	switch a := n.Attrs.(type) {
	case ir.ScanAttrs:
		a.Body = parts[0]
		return a, nil
	case ir.WhileAttrs:
		a.Cond, a.Body = parts[0], parts[1]
		return a, nil
	case ir.CondAttrs:
		return ir.CondAttrs{Then: parts[0], Else: parts[1]}, nil
	case ir.FactorAttrs:
		a.Definition = parts[0]
		return a, nil
	}
	return n.Attrs, nil
}
