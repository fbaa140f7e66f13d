package initializers

import "github.com/gokeras/gokeras/distribute"

// WithAxes returns a copy of a scaled initializer (VarianceScaling and its relatives) that takes fan_in and fan_out
// from the given axes. Other initializers, and those whose axes are set, are returned unchanged.
func WithAxes(initializer distribute.Initializer, inputAxes, outputAxes []int) distribute.Initializer {
	unset := func(in, out []int) bool { return in == nil || out == nil }
	switch i := initializer.(type) {
	case *VarianceScaling:
		return WithAxes(*i, inputAxes, outputAxes)
	case VarianceScaling:
		if unset(i.InputAxes, i.OutputAxes) {
			i.InputAxes, i.OutputAxes = inputAxes, outputAxes
		}
		return i
	case *GlorotUniform:
		return WithAxes(*i, inputAxes, outputAxes)
	case GlorotUniform:
		if unset(i.InputAxes, i.OutputAxes) {
			i.InputAxes, i.OutputAxes = inputAxes, outputAxes
		}
		return i
	case *GlorotNormal:
		return WithAxes(*i, inputAxes, outputAxes)
	case GlorotNormal:
		if unset(i.InputAxes, i.OutputAxes) {
			i.InputAxes, i.OutputAxes = inputAxes, outputAxes
		}
		return i
	case *HeUniform:
		return WithAxes(*i, inputAxes, outputAxes)
	case HeUniform:
		if unset(i.InputAxes, i.OutputAxes) {
			i.InputAxes, i.OutputAxes = inputAxes, outputAxes
		}
		return i
	case *HeNormal:
		return WithAxes(*i, inputAxes, outputAxes)
	case HeNormal:
		if unset(i.InputAxes, i.OutputAxes) {
			i.InputAxes, i.OutputAxes = inputAxes, outputAxes
		}
		return i
	case *LecunUniform:
		return WithAxes(*i, inputAxes, outputAxes)
	case LecunUniform:
		if unset(i.InputAxes, i.OutputAxes) {
			i.InputAxes, i.OutputAxes = inputAxes, outputAxes
		}
		return i
	case *LecunNormal:
		return WithAxes(*i, inputAxes, outputAxes)
	case LecunNormal:
		if unset(i.InputAxes, i.OutputAxes) {
			i.InputAxes, i.OutputAxes = inputAxes, outputAxes
		}
		return i
	}
	return initializer
}
