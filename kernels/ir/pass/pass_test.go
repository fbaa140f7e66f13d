package pass_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// A pass that fails is named.
func TestFailingPassIsNamed(t *testing.T) {
	broken := pass.New("break", func(*ir.Program) (*ir.Program, error) { return nil, errors.New("it broke") })
	for _, p := range []pass.Pass{broken, pass.Sequence("all", broken), pass.CleanUp("all", broken, broken)} {
		_, err := pass.Run(ir.New("p"), nil, p)
		require.EqualError(t, err, `pass "break": it broke`)
	}
}

// What cleans up runs after passes of which one changed something, once, and is shown like the others.
func TestCleanUpRunsWhereItMust(t *testing.T) {
	var shown []string
	show := func(name string, _ *ir.Program) { shown = append(shown, name) }
	step := func(name string, changes bool) pass.Pass {
		return pass.New(name, func(p *ir.Program) (*ir.Program, error) {
			if changes {
				return p.Clone(), nil
			}
			return p, nil
		})
	}
	clean := step("clean", true)
	_, err := pass.Run(ir.New("p"), show, pass.CleanUp("idle", clean, step("a", false)), pass.CleanUp("busy", clean, step("b", true), step("c", false)), step("d", false))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c", "clean", "d"}, shown)
}

// Passes reach the programs of loops and branches, inner ones first.
func TestInside(t *testing.T) {
	leaf := func(name string) *ir.Program {
		p := ir.New(name)
		p.AddOutput("y", b{t, p}.add(ir.Neg, nil, p.AddInput("x", ir.Type{DType: ir.Float32})))
		return p
	}
	body := ir.New("body")
	yes, x := body.AddInput("yes", ir.Type{DType: ir.Bool}), body.AddInput("x", ir.Type{DType: ir.Float32})
	body.AddOutput("yes", yes)
	body.AddOutput("y", b{t, body}.add(ir.Cond, ir.CondAttrs{Then: leaf("then"), Else: leaf("else")}, yes, x))
	p := ir.New("outer")
	out, err := p.Add("", ir.Scan, ir.ScanAttrs{Body: body, Length: 3, Carry: 2}, p.AddInput("yes", ir.Type{DType: ir.Bool}), p.AddInput("x", ir.Type{DType: ir.Float32}))
	require.NoError(t, err)
	p.AddOutput("y", out[1])
	var seen []string
	look := pass.New("look", func(p *ir.Program) (*ir.Program, error) {
		seen = append(seen, p.Name)
		return p, nil
	})
	same, err := pass.Run(p, nil, pass.Inside(look))
	require.NoError(t, err)
	require.Same(t, p, same, "nothing has changed")
	require.Equal(t, []string{"then", "else", "body", "outer"}, seen)

	twice := pass.New("negate twice", func(p *ir.Program) (*ir.Program, error) {
		if p.Name != "then" {
			return p, nil
		}
		q := p.Clone()
		q.Outputs[0].Value = b{t, q}.add(ir.Neg, nil, q.Outputs[0].Value)
		return q, nil
	})
	q, err := pass.Run(p, nil, pass.Inside(twice), pass.Inside(pass.Simplify(pass.SimplifyOptions{})))
	require.NoError(t, err)
	require.NoError(t, q.Verify())
	inner := q.Nodes[0].Attrs.(ir.ScanAttrs).Body.Nodes[0].Attrs.(ir.CondAttrs)
	require.Equal(t, inner.Then.Inputs[0].Value, inner.Then.Outputs[0].Value, "-(-x) is x")
	require.Len(t, inner.Else.Nodes, 1)
	require.Len(t, leaf("then").Nodes, 1)
}

// TestNothingToSimplify checks that programs in their simplest form are returned as they are, and that others are not,
// even if only their values have other numbers than those of a copy.
func TestNothingToSimplify(t *testing.T) {
	simplify := pass.Simplify(pass.SimplifyOptions{})
	made := func(t *testing.T, twice, dead, late bool) (p, q *ir.Program) {
		b := b{t, ir.New("p")}
		x := b.input("x", ir.Float32, 4)
		y := b.add(ir.Exp, nil, x)
		if late {
			b.p.AddOutput("late", b.input("late", ir.Float32, 4))
		}
		z := b.add(ir.Neg, nil, y)
		if twice {
			z = b.add(ir.Neg, nil, b.add(ir.Exp, nil, x))
		}
		if dead {
			b.add(ir.Tanh, nil, z)
		}
		b.p.AddOutput("z", z)
		q, err := simplify.Run(b.p)
		require.NoError(t, err)
		require.NoError(t, q.Verify())
		return b.p, q
	}
	p, q := made(t, false, false, false)
	require.Same(t, p, q)
	for i := range 3 {
		p, q = made(t, i == 0, i == 1, i == 2)
		require.NotSame(t, p, q, i)
		again, err := simplify.Run(q)
		require.NoError(t, err)
		require.Same(t, q, again, i)
	}
}
