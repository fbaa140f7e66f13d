package protocol

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/rows"
)

// Rule says how a table is updated from gradients. The formulas are those of Keras's optimizers. The zero value is
// [NoRule].
type Rule struct {
	Kind RuleKind
	// Lazy leaves rows without a gradient, and their state, unchanged. Otherwise an update of some rows has the same
	// result as one with zero gradients for the others.
	Lazy bool

	Momentum   float64 // SGD, RMSprop
	Nesterov   bool    // SGD
	Beta1      float64 // Adam
	Beta2      float64 // Adam
	Rho        float64 // RMSprop
	Centered   bool    // RMSprop
	Epsilon    float64 // Adagrad, Adam, RMSprop
	Initial    float64 // Adagrad, FTRL: the accumulator's first value
	Power      float64 // FTRL: of the learning rate, at most 0
	L1, L2     float64 // FTRL
	Shrinkage  float64 // FTRL: of L2
	Beta       float64 // FTRL
	WeightLoss float64 // decoupled weight decay, of any rule
}

// RuleKind names a rule.
type RuleKind uint8

// The rules.
const (
	NoRule  RuleKind = iota // gradients are refused: a variable that is not trained
	SGD                     // with momentum: m ← μ·m - η·g, w ← w + m
	Adagrad                 // n ← n + g², w ← w - η·g/√(n+ε)
	Adam                    // m, v with bias correction
	RMSprop                 // v ← ρ·v + (1-ρ)·g², w ← w - η·g/√(v+ε)
	FTRL                    // follow the regularized leader
	kinds
)

var ruleNames = [kinds]string{"none", "sgd", "adagrad", "adam", "rmsprop", "ftrl"}

// String is the name of the rule.
func (k RuleKind) String() string {
	if k < kinds {
		return ruleNames[k]
	}
	return fmt.Sprintf("rule(%d)", k)
}

// Check returns an error if the rule is invalid.
func (r *Rule) Check() error {
	fail := func(what string) error { return fmt.Errorf("parameterserver: rule %v: %s", r.Kind, what) }
	for _, v := range r.numbers() {
		if math.IsNaN(*v) || math.IsInf(*v, 0) {
			return fail("its numbers must be finite")
		}
	}
	switch {
	case r.Kind >= kinds:
		return fail("it is not known")
	case r.Momentum < 0 || r.Momentum > 1 || r.Rho < 0 || r.Rho > 1:
		return fail("momentum and rho must be in [0, 1]")
	case r.Beta1 < 0 || r.Beta1 >= 1 || r.Beta2 < 0 || r.Beta2 >= 1:
		return fail("the betas must be in [0, 1)")
	case r.Initial < 0 || r.L1 < 0 || r.L2 < 0 || r.Shrinkage < 0 || r.Power > 0:
		return fail("the first accumulator and the strengths of regularization must not be negative, nor the power of the learning rate positive")
	}
	return nil
}

func (r *Rule) numbers() []*float64 {
	return []*float64{&r.Momentum, &r.Beta1, &r.Beta2, &r.Rho, &r.Epsilon, &r.Initial, &r.Power, &r.L1, &r.L2, &r.Shrinkage, &r.Beta, &r.WeightLoss}
}

func (r *Rule) encode(w *Writer) {
	w.Byte(byte(r.Kind))
	w.Bool(r.Lazy)
	w.Bool(r.Nesterov)
	w.Bool(r.Centered)
	for _, v := range r.numbers() {
		w.Float(*v)
	}
}

func (r *Rule) decode(d *Reader) {
	r.Kind, r.Lazy, r.Nesterov, r.Centered = RuleKind(d.Byte()), d.Bool(), d.Bool(), d.Bool()
	for _, v := range r.numbers() {
		*v = d.Float()
	}
}

// SlotNames lists the slots that the rule keeps for each element, by the names of Keras's optimizers.
//
//go:noinline
func (r *Rule) SlotNames() []string {
	switch r.Kind {
	case SGD:
		if r.Momentum > 0 {
			return []string{"momentum"}
		}
	case Adagrad:
		return []string{"accumulator"}
	case Adam:
		return []string{"momentum", "velocity"}
	case RMSprop:
		names := []string{"velocity"}
		if r.Momentum > 0 {
			names = append(names, "momentum")
		}
		if r.Centered {
			names = append(names, "average_gradient")
		}
		return names
	case FTRL:
		return []string{"accumulator", "linear"}
	}
	return nil
}

// slotValue returns the initial value of slot i.
func (r *Rule) slotValue(i int) float32 {
	if i == 0 && (r.Kind == Adagrad || r.Kind == FTRL) {
		return float32(r.Initial)
	}
	return 0
}

// touchesAll reports whether rows with a gradient of zero change too.
func (r *Rule) touchesAll() bool {
	if r.Lazy {
		return false
	}
	switch r.Kind {
	case SGD:
		return r.Momentum > 0 || r.WeightLoss != 0
	case Adagrad:
		return r.WeightLoss != 0
	}
	return r.Kind != NoRule
}

// factors are the numbers of one update, the same for all its elements.
type factors struct{ rate, alpha, decay float32 }

// factors of update number step, from 1.
func (r *Rule) factors(rate float64, step uint64) factors {
	f := factors{rate: float32(rate), decay: float32(1 - rate*r.WeightLoss)}
	if r.Kind == Adam {
		t := float64(step)
		f.alpha = float32(rate * math.Sqrt(1-math.Pow(r.Beta2, t)) / (1 - math.Pow(r.Beta1, t)))
	}
	return f
}

// zeros is a part of a gradient of zeros.
var zeros [1024]float32

// update changes the elements w by the gradient g; nil stands for zeros. slots are those of the same elements.
func (r *Rule) update(f factors, w, g []float32, slots [][]float32) {
	if g != nil {
		r.step(f, w, g, slots)
		return
	}
	var room [3][]float32 // of as many slots as a rule has
	for from := 0; from < len(w); from += len(zeros) {
		to := min(from+len(zeros), len(w))
		for i, slot := range slots {
			room[i] = slot[from:to]
		}
		r.step(f, w[from:to], zeros[:to-from], room[:len(slots)])
	}
}

// step is update with a gradient.
func (r *Rule) step(f factors, w, g []float32, slots [][]float32) {
	if r.WeightLoss != 0 {
		for i := range w {
			w[i] *= f.decay
		}
	}
	switch r.Kind {
	case SGD:
		if len(slots) == 0 {
			rows.Descend(w, g, f.rate)
			return
		}
		rows.Momentum(w, slots[0], g, f.rate, float32(r.Momentum), r.Nesterov)
	case Adagrad:
		rows.Adagrad(w, slots[0], g, f.rate, float32(r.Epsilon))
	case Adam:
		rows.Adam(w, slots[0], slots[1], g, f.alpha, float32(1-r.Beta1), float32(1-r.Beta2), float32(r.Epsilon))
	case RMSprop:
		var m, average []float32
		if r.Momentum > 0 {
			m = slots[1]
		}
		if r.Centered {
			average = slots[len(slots)-1]
		}
		rows.RMSprop(w, slots[0], m, average, g, f.rate, float32(r.Rho), float32(1-r.Rho), float32(r.Epsilon), float32(r.Momentum))
	case FTRL:
		r.ftrl(f, w, g, slots)
	}
}

func (r *Rule) ftrl(f factors, w, g []float32, slots [][]float32) {
	n, z := slots[0], slots[1]
	l1, l2, shrinkage := float32(r.L1), float32(float32(r.Beta)/f.rate)+float32(2*r.L2), float32(2*r.Shrinkage)
	if r.Power == -0.5 {
		rows.FTRL(w, n, z, g, f.rate, l1, l2, shrinkage)
		return
	}
	power := func(x float32) float32 { return float32(math.Pow(float64(x), -r.Power)) }
	for i, x := range g {
		next := n[i] + float32(x*x)
		raised := power(next)
		z[i] += x + float32(shrinkage*w[i]) - float32((raised-power(n[i]))/f.rate*w[i])
		n[i] = next
		w[i] = (min(max(z[i], -l1), l1) - z[i]) / (raised/f.rate + l2)
	}
}
