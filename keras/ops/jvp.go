package ops

// JVP returns f(primals...) and the derivative of the results in the direction of the tangents, one for each primal:
// the product of the Jacobian and the tangents. Gradients here are in reverse mode. A vector-Jacobian product is linear
// in its vector, so its derivative with respect to that vector is the requested product. Results that do not depend on
// the primals give zeros.
func JVP(f func(xs []*Tensor) []*Tensor, primals, tangents []*Tensor) (results, derivatives []*Tensor) {
	if len(primals) == 0 || len(primals) != len(tangents) {
		Failf(graphOf(append(primals, tangents...)...), "jvp: needs one tangent for each primal, received %d primals and %d tangents", len(primals), len(tangents))
	}
	for i, t := range tangents {
		if !t.Type().Equal(primals[i].Type()) {
			Failf(t.g, "jvp: tangent %d is %v, its primal %v; they must have one type", i, t.Type(), primals[i].Type())
		}
	}
	needFunctions(graphOf(primals...), "jvp", f != nil)
	results = f(primals)
	vectors := make([]*Tensor, len(results))
	for i, y := range results {
		vectors[i] = ZerosLike(y)
	}
	var pulled, along []*Tensor
	for i, dx := range VJP(results, vectors, primals...) {
		if dx != nil {
			pulled, along = append(pulled, dx), append(along, tangents[i])
		}
	}
	derivatives = make([]*Tensor, len(results))
	if len(pulled) > 0 {
		copy(derivatives, VJP(pulled, along, vectors...))
	}
	for i, d := range derivatives {
		if d == nil {
			derivatives[i] = ZerosLike(results[i])
		}
	}
	return results, derivatives
}
