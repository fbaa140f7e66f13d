package optimizers

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
)

// Muon moves matrices by orthogonalized momentum and everything else by [AdamW]. A matrix is a weight of rank 2 whose
// path neither contains "embedding" (unless IncludeEmbeddings) nor matches one of ExcludeLayers. With gradient g,
// learning rate a and momentum μ,
//
//	m ← μ·m + g;  x = g + μ·m (NoNesterov: x = m), divided by ‖x‖ + 1e-7
//	NSSteps times: A = x·xᵀ;  x ← a₀·x + (b₀·A + c₀·A·A)·x, on the wide side
//	w ← w - a·x·√max(rows, columns)·RMSRate
//
// with (a₀, b₀, c₀) = (3.4445, -4.775, 2.0315): NSSteps Newton-Schulz iterations (5 by default), which bring all
// singular values near 1. The other weights have the learning rate a·AdamLRRatio. Weight decay is WeightDecay for
// matrices and AdamWeightDecay for the others.
//
// Slots of each weight: momentum, and velocity if it is not a matrix. Name: "muon". Behaviour of keras.optimizers.Muon.
// Sources: Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024; Liu et al., "Muon is
// Scalable for LLM Training", 2025.
type Muon struct {
	Base
	Options
	LearningRate      any      `keras:"learning_rate,default=0.001"`     // float64 or schedules.Schedule; nil is 0.001
	WeightDecay       *float64 `keras:"weight_decay,default=0.004"`      // of matrices; nil is 0.004
	AdamBeta1         *float64 `keras:"adam_beta_1,default=0.9"`         // nil is 0.9
	AdamBeta2         *float64 `keras:"adam_beta_2,default=0.999"`       // nil is 0.999
	AdamWeightDecay   *float64 `keras:"adam_weight_decay,default=0.004"` // of other weights; nil is 0.004
	Epsilon           *float64 `keras:"epsilon,default=1e-07"`           // nil is 1e-7
	ExcludeLayers     []string `keras:"exclude_layers,null,default=[]"`  // regular expressions for paths
	IncludeEmbeddings bool     `keras:"exclude_embeddings,not"`
	MuonA             *float64 `keras:"muon_a,default=3.4445"`   // nil is 3.4445
	MuonB             *float64 `keras:"muon_b,default=-4.775"`   // nil is -4.775
	MuonC             *float64 `keras:"muon_c,default=2.0315"`   // nil is 2.0315
	AdamLRRatio       *float64 `keras:"adam_lr_ratio,default=1"` // nil is 1
	Momentum          *float64 `keras:"momentum,default=0.95"`   // nil is 0.95
	NSSteps           int      `keras:"ns_steps,default=5"`      // at most 1000; 0 is 5
	NoNesterov        bool     `keras:"nesterov,not"`
	RMSRate           any      `keras:"rms_rate,default=0.2"` // a float64; nil is 0.2; NoRMSRate omits the factor with the root
	Name              string   `keras:"name,default=muon"`

	exclude []*regexp.Regexp
}

// NoRMSRate is the RMSRate of a Muon that does not scale its steps with the size of the matrix.
const NoRMSRate = "none"

func init() {
	config.RegisterKindWith("rms_rate", func(v any) (any, error) { _, err := parseRMSRate(v); return v, err }, func(v any) (any, error) {
		if v == NoRMSRate {
			return nil, nil
		}
		return v, nil
	})
}

func parseRMSRate(v any) (*float64, error) {
	switch v := v.(type) {
	case nil:
		return new(0.2), nil
	case float64:
		return &v, nil
	case string:
		if v == NoRMSRate {
			return nil, nil
		}
	}
	return nil, fmt.Errorf("RMSRate must be a float64 or optimizers.NoRMSRate, received %s", config.Received(v))
}

// MigrateConfig reads null as "none".
func (o *Muon) MigrateConfig(c map[string]json.RawMessage) error {
	for key, none := range map[string]string{"rms_rate": `"` + NoRMSRate + `"`, "weight_decay": "0", "adam_weight_decay": "0"} {
		if string(c[key]) == "null" {
			c[key] = json.RawMessage(none)
		}
	}
	return nil
}

func (o *Muon) check() error {
	if _, err := parseRMSRate(o.RMSRate); err != nil {
		return err
	}
	if o.NSSteps < 0 || o.NSSteps > maxNSSteps {
		return fmt.Errorf("NSSteps must be positive and at most %d, received %d", maxNSSteps, o.NSSteps)
	}
	o.exclude = nil
	for _, pattern := range o.ExcludeLayers {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return fmt.Errorf("ExcludeLayers: %w", err)
		}
		o.exclude = append(o.exclude, re)
	}
	return checkBetas(o.AdamBeta1, o.AdamBeta2)
}

// Settings implements [Rule].
func (o *Muon) Settings() Settings {
	return Settings{named(o.Name, "muon"), o.LearningRate, 0.001, o.Options}
}

// Build implements [Optimizer].
func (o *Muon) Build(w distribute.Variables) error { return o.BuildRule(o, w) }

// Apply implements [Optimizer].
func (o *Muon) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// isMatrix reports whether the momentum of a weight is orthogonalized.
func (o *Muon) isMatrix(w *distribute.Variable) bool {
	path := w.Path()
	if len(w.Type().Shape) != 2 || !o.IncludeEmbeddings && strings.Contains(strings.ToLower(path), "embedding") {
		return false
	}
	for _, re := range o.exclude {
		if re.MatchString(path) {
			return false
		}
	}
	return true
}

func (o *Muon) decayOf(w *distribute.Variable) *float64 {
	d := o.AdamWeightDecay
	if o.isMatrix(w) {
		d = o.WeightDecay
		if d == nil {
			d = o.Options.WeightDecay
		}
	}
	return new(or(d, 0.004))
}

// Slots implements [Rule].
func (o *Muon) Slots(w *distribute.Variable) []Slot {
	if o.isMatrix(w) {
		return []Slot{like(w, "momentum")}
	}
	return []Slot{like(w, "momentum"), like(w, "velocity")}
}

// Elementwise reports whether the update works element by element; see [Rule].
func (o *Muon) Elementwise(w *distribute.Variable) bool { return !o.isMatrix(w) }

// Update implements [Rule].
func (o *Muon) Update(s *Step, v *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	if len(slots) == 2 {
		rate := ops.MultiplyScalar(s.Rate(w), or(o.AdamLRRatio, 1))
		return adam(s, w, g, slots, rate, or(o.AdamBeta1, 0.9), or(o.AdamBeta2, 0.999), or(o.Epsilon, 1e-7))
	}
	mu := or(o.Momentum, 0.95)
	m := ops.Add(ops.MultiplyScalar(slots[0], mu), g)
	x := m
	if !o.NoNesterov {
		x = ops.Add(g, ops.MultiplyScalar(m, mu))
	}
	change := ops.Multiply(s.Rate(w), o.orthogonalize(x))
	if rms, _ := parseRMSRate(o.RMSRate); rms != nil {
		shape := v.Type().Shape
		change = ops.MultiplyScalar(change, math.Sqrt(float64(max(shape[0], shape[1])))**rms)
	}
	return ops.Subtract(w, change), []*ops.Tensor{m}
}

// maxNSSteps limits the number of iterations, because each makes the program longer.
const maxNSSteps = 1000

// orthogonalize is the Newton-Schulz iteration.
func (o *Muon) orthogonalize(x *ops.Tensor) *ops.Tensor {
	a, b, c := or(o.MuonA, 3.4445), or(o.MuonB, -4.775), or(o.MuonC, 2.0315)
	steps := o.NSSteps
	if steps == 0 {
		steps = 5
	}
	tall := x.Dim(0) > x.Dim(1)
	if tall {
		x = ops.Transpose(x)
	}
	x = ops.Divide(x, ops.AddScalar(ops.Norm(x), 1e-7))
	for range steps {
		square := gram(x)
		factor := ops.Add(ops.MultiplyScalar(square, b), ops.MultiplyScalar(gram(square), c)) // square is symmetric
		x = ops.Add(ops.MultiplyScalar(x, a), ops.Matmul(factor, x))
	}
	if tall {
		x = ops.Transpose(x)
	}
	return x
}

// gram returns x times its transpose. It is symmetric, so backends may compute only half of it.
func gram(x *ops.Tensor) *ops.Tensor { return ops.Matmul(x, ops.Transpose(x)) }
