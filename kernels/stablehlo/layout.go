package stablehlo

import "github.com/gokeras/gokeras/kernels/ir"

// identity writes nothing, unless it gives a value a layout on a mesh that the program is divided over.
func (e *emitter) identity(n *ir.Node, in []value) []value {
	a, ok := n.Attrs.(ir.LayoutAttrs)
	if !ok || e.options == nil || e.options.Shardings == nil || e.options.Layout == nil {
		return in
	}
	text, err := e.options.Layout(a, in[0].typ)
	if err != nil {
		e.failf("%v", err)
	}
	t := in[0].typ
	if e.options.Mesh != "" {
		return []value{e.definef(t, "sdy.sharding_constraint %s <@mesh, %s> : %s", in[0].name, text, tensor(t))}
	}
	return []value{e.definef(t, "stablehlo.custom_call @Sharding(%s) {mhlo.sharding = %s} : (%s) -> %s", in[0].name, quoted(text), tensor(t), tensor(t))}
}
