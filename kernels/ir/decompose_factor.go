package ir

import "fmt"

func init() {
	decompositions[Factor] = func(b *builder, n *Node) []Value {
		out, err := b.p.Inline(n.Attrs.(FactorAttrs).Definition, n.Inputs)
		if err != nil {
			panic(buildError{err})
		}
		return out
	}
}

func inferFactor(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(FactorAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	for _, t := range in {
		if !t.DType.IsWideFloat() || len(t.Shape) < 2 || t.DType != in[0].DType {
			return nil, fmt.Errorf("needs matrices (..., m, n) of float32 or float64, received %v", t)
		}
	}
	if err := matchInputs("the definition", a.Definition, in); err != nil {
		return nil, err
	}
	return outputTypes(a.Definition), nil
}
