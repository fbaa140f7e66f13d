package keras

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/metrics"
)

// lookAtWeights reports once per call that a metric which counts in integers truncates sample weights, as Keras's do:
// such a metric ignores an example with the weight 0.5. It allocates nothing unless there is something to report.
func (k *nanCheck) lookAtWeights(m *Model, p *parts, where func() string) {
	if k.toldCut || m.compiled == nil || len(p.w) == 0 && len(m.compiled.classWeight) == 0 {
		return
	}
	for _, n := range m.compiled.metrics {
		if !n.weighted || !countsWhole(n.metric) {
			continue
		}
		what := m.fraction(p)
		if what == "" {
			return
		}
		k.toldCut = true
		fmt.Fprintf(k.lines(), "%s: %s is no whole number: metric %q counts in integers, to which it cuts weights; give it DType \"float32\" for weights like that\n", where(), what, n.name)
		return
	}
}

// fraction describes a weight that is not an integer, or returns "".
func (m *Model) fraction(p *parts) string {
	for i, w := range p.w {
		if at := firstFraction(w); at >= 0 {
			return fmt.Sprintf("element %d of %s of shape %v", at, m.nameOf(p, len(p.x)+len(p.y)+i), layers.ShapeString(w.Shape()))
		}
	}
	for class, w := range m.compiled.classWeight {
		if w != math.Trunc(w) {
			return fmt.Sprintf("the weight %g of class %d", w, class)
		}
	}
	return ""
}

// countsWhole reports whether a metric adds weights as integers.
func countsWhole(m metrics.Metric) bool {
	var dtype string
	switch m := m.(type) {
	case *metrics.IoU:
		dtype = m.DType
	case *metrics.MeanIoU:
		dtype = m.DType
	case *metrics.BinaryIoU:
		dtype = m.DType
	case *metrics.OneHotIoU:
		dtype = m.DType
	case *metrics.OneHotMeanIoU:
		dtype = m.DType
	default:
		return false
	}
	return dtype == "" || strings.HasPrefix(dtype, "int") || strings.HasPrefix(dtype, "uint")
}

// firstFraction returns the index of the first element that is not an integer, or -1. NaN is reported elsewhere.
func firstFraction(a data.Array) int {
	if a.IsZero() {
		return -1
	}
	switch values := a.Elements().(type) {
	case []float32:
		return slices.IndexFunc(values, func(v float32) bool { return isFraction(float64(v)) })
	case []float64:
		return slices.IndexFunc(values, isFraction)
	}
	return -1
}

// isFraction is false for NaN and infinities.
func isFraction(v float64) bool { return math.Abs(v-math.Trunc(v)) > 0 }
