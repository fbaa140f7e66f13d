package kernels_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// single is the CPU as a backend that has no float64.
type single struct{ cpu.Backend }

func (single) HasType(d ir.DType) bool { return d != ir.Float64 }

func (s single) Compile(p *ir.Program, o kernels.CompileOptions) (kernels.Executable, error) {
	if err := kernels.CheckTypes("single", p, s.HasType); err != nil {
		return nil, err
	}
	return s.Backend.Compile(p, o)
}

func ExampleTyped() {
	var backend kernels.Typed = single{}
	p := ir.New("sum")
	x := p.AddInput("x", ir.Type{DType: ir.Float64})
	p.AddOutput("x", x)
	_, err := backend.Compile(p, kernels.CompileOptions{})
	fmt.Println(err)
	// Output: devices of kind "single" have no float64: unsupported operation; convert to another type
}

// Types are looked for in programs inside a program too.
func TestCheckTypes(t *testing.T) {
	branch := func(d ir.DType) *ir.Program {
		p := ir.New("branch")
		one := ir.Scalar(d, 1)
		v, err := p.Add("", ir.Constant, ir.ConstantAttrs{Literal: one})
		require.NoError(t, err)
		c, err := p.Add("", ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, v[0])
		require.NoError(t, err)
		p.AddOutput("y", c[0])
		return p
	}
	p := ir.New("branches")
	which := p.AddInput("which", ir.Type{DType: ir.Bool})
	y, err := p.Add("here", ir.Cond, ir.CondAttrs{Then: branch(ir.Float32), Else: branch(ir.Float64)}, which)
	require.NoError(t, err)
	p.AddOutput("y", y[0])
	err = kernels.CheckTypes("single", p, single{}.HasType)
	require.True(t, errors.Is(err, errors.ErrUnsupported))
	require.ErrorContains(t, err, `scope "here"`)
	require.ErrorContains(t, err, "float64")
	require.NoError(t, kernels.CheckTypes("any", p, ir.DType.Valid))
}
