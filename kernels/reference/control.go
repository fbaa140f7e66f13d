package reference

import (
	"github.com/gokeras/gokeras/kernels/ir"
)

// row returns slice i of v along axis 0.
func row(v Value, i int) Value {
	r := zeros(ir.Type{DType: v.Type.DType, Shape: v.Type.Shape[1:]})
	n := r.Type.Shape.Size()
	if v.F != nil {
		copy(r.F, v.F[i*n:])
	} else {
		copy(r.I, v.I[i*n:])
	}
	return r
}

func setRow(v Value, i int, r Value) {
	n := r.Type.Shape.Size()
	if v.F != nil {
		copy(v.F[i*n:(i+1)*n], r.F)
	} else {
		copy(v.I[i*n:(i+1)*n], r.I)
	}
}

func (c *call) scan() error {
	a := c.node.Attrs.(ir.ScanAttrs)
	carry := c.in[:a.Carry]
	xs, constants := c.in[a.Carry:a.Carry+a.Xs], c.in[a.Carry+a.Xs:]
	for n := range a.Length {
		step := n
		if a.Reverse {
			step = a.Length - 1 - n
		}
		inputs := append([]Value{}, carry...)
		for _, x := range xs {
			inputs = append(inputs, row(x, step))
		}
		results, err := c.run(a.Body, append(inputs, constants...))
		if err != nil {
			return err
		}
		carry = results[:a.Carry]
		for i, y := range results[a.Carry:] {
			setRow(c.out[a.Carry+i], step, y)
		}
	}
	for i, v := range carry {
		c.out[i] = v.Clone()
	}
	return nil
}

func (c *call) while() error {
	a := c.node.Attrs.(ir.WhileAttrs)
	state, constants := c.in[:a.State], c.in[a.State:]
	for {
		inputs := append(append([]Value{}, state...), constants...)
		goOn, err := c.run(a.Cond, inputs)
		if err != nil {
			return err
		}
		if goOn[0].I[0] == 0 {
			break
		}
		if state, err = c.run(a.Body, inputs); err != nil {
			return err
		}
	}
	for i, v := range state {
		c.out[i] = v.Clone()
	}
	return nil
}

func (c *call) cond() error {
	a := c.node.Attrs.(ir.CondAttrs)
	branch := a.Else
	if c.in[0].I[0] != 0 {
		branch = a.Then
	}
	results, err := c.run(branch, c.in[1:])
	copy(c.out, results)
	return err
}
