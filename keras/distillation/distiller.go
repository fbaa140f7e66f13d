package distillation

import (
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/metrics"
)

// Distiller says how a student learns from a teacher. [New] creates a model from it.
type Distiller struct {
	Teacher *keras.Model // is frozen
	Student *keras.Model // is trained; save it for later use
	// Losses compare the outputs of both; at least one is needed.
	Losses []Loss `keras:"-"`
	// LossWeights multiply the Losses; nil is 1 for each.
	LossWeights []float64 `keras:"-"`
	// StudentLossWeight is the weight of the loss of Compile, from 0 to 1; nil is 0.5. With 1 the teacher is not
	// called, with 0 no labels are needed.
	StudentLossWeight *float64 `keras:"-"`

	student, distillation, total *metrics.Mean
	share                        float64
}

// New returns a model whose training is distillation, Keras's Distiller. It predicts what the student predicts. Compile
// takes the student's loss, and metrics of its outputs; Fit and Evaluate report "loss", "student_loss",
// "distillation_loss" and "total_loss" beside them. As in Keras, "loss" is the mean over the examples; the others are
// means over the batches.
//
// The teacher and the student take the same inputs and have outputs of the same shapes. New freezes the teacher.
// Options are those of [keras.NewModel]; the name is "distiller".
//
// As in Keras, the student's loss ignores sample weights (weighted metrics use them), loss weights, and the
// regularization of layers. If a loss compares inner layers of the student, a training step calls the student twice,
// which updates moving statistics twice. Unlike in Keras, Evaluate calls it in inference mode both times, and so
// changes no statistics.
//
// [LogitsDistillation] says where its results differ from Keras's default.
//
// SaveWeights and LoadWeights handle both models, in the same layout as Keras. The distiller itself cannot be saved
// with Save; save the Student.
func New(d Distiller, options ...keras.Option) (*keras.Model, error) {
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("distillation: %w", err)
	}
	d.share = 0.5
	if d.StudentLossWeight != nil {
		d.share = *d.StudentLossWeight
	}
	d.student, d.distillation, d.total = metrics.NewMean("student_loss"), metrics.NewMean("distillation_loss"), metrics.NewMean("total_loss")
	d.Teacher.SetTrainable(false)
	model, err := keras.NewModel(&d, options...)
	if err != nil {
		return nil, fmt.Errorf("distillation: %w", err)
	}
	return model, nil
}

func (d *Distiller) check() error {
	if d.Teacher == nil || d.Student == nil {
		return errors.New("Teacher or Student is nil; expected two models")
	}
	if d.Teacher == d.Student {
		return errors.New("Teacher and Student are one model; expected two")
	}
	if len(d.Losses) == 0 {
		return errors.New("there are no Losses; expected one or more, such as &LogitsDistillation{}")
	}
	if d.LossWeights != nil && len(d.LossWeights) != len(d.Losses) {
		return fmt.Errorf("%d LossWeights for %d Losses; expected one for each", len(d.LossWeights), len(d.Losses))
	}
	if w := d.StudentLossWeight; w != nil && !(*w >= 0 && *w <= 1) {
		return fmt.Errorf("StudentLossWeight %g; expected 0 to 1", *w)
	}
	for i, l := range d.Losses {
		if l == nil {
			return fmt.Errorf("Losses[%d] is nil", i)
		}
		if c, ok := l.(interface {
			check(teacher, student *keras.Model) error
		}); ok {
			if err := c.check(d.Teacher, d.Student); err != nil {
				return fmt.Errorf("Losses[%d]: %w", i, err)
			}
		}
	}
	if err := sameTypes("inputs", d.Teacher.Inputs(), d.Student.Inputs()); err != nil {
		return err
	}
	return sameTypes("outputs", d.Teacher.Outputs(), d.Student.Outputs())
}

// sameTypes compares what is known about both before they are called.
func sameTypes(what string, teacher, student []*layers.KerasTensor) error {
	if teacher == nil || student == nil {
		return nil
	}
	if len(teacher) != len(student) {
		return fmt.Errorf("the teacher has %d %s and the student %d; expected the same", len(teacher), what, len(student))
	}
	for i, t := range teacher {
		s := student[i]
		fits := len(t.Shape()) == len(s.Shape()) && t.DType() == s.DType()
		for axis := 0; fits && axis < len(t.Shape()); axis++ {
			a, b := t.Shape()[axis], s.Shape()[axis]
			fits = a == b || a == layers.Unknown || b == layers.Unknown
		}
		if !fits {
			return fmt.Errorf("%s: those of the teacher are %v and those of the student %v; expected the same shape and type", what, t, s)
		}
	}
	return nil
}

// Call predicts with the student.
func (d *Distiller) Call(c *layers.Context, inputs ...*ops.Tensor) []*ops.Tensor {
	return d.Student.CallAll(c, inputs...)
}

// TrainStep implements [keras.TrainStepper].
func (d *Distiller) TrainStep(s *keras.Step) keras.StepLogs {
	loss, logs := d.measure(s, s.Training())
	s.Minimize(s.Optimizer(), loss, s.Model().TrainableVariables())
	return logs
}

// TestStep implements [keras.TestStepper].
func (d *Distiller) TestStep(s *keras.Step) keras.StepLogs {
	_, logs := d.measure(s, s.Inference())
	return logs
}

func (d *Distiller) measure(s *keras.Step, c *layers.Context) (*ops.Tensor, keras.StepLogs) {
	outputs := s.Model().CallAll(c, s.X...)
	student, distilled := ops.Zeros(s, ir.Float32), ops.Zeros(s, ir.Float32)
	if d.share > 0 && len(s.Y) > 0 {
		student = d.studentLoss(s, outputs)
	}
	if d.share < 1 {
		distilled = d.distilled(s, c, outputs)
	}
	student, distilled = promote(student, distilled)
	total := ops.Add(ops.MultiplyScalar(student, d.share), ops.MultiplyScalar(distilled, 1-d.share))
	logs := keras.StepLogs{}
	if len(s.Y) > 0 {
		logs = s.ComputeMetrics(outputs...)
	}
	logs["loss"] = total
	for _, tracked := range []struct {
		mean *metrics.Mean
		part *ops.Tensor
	}{{d.student, student}, {d.distillation, distilled}, {d.total, total}} {
		meanOfBatches(s, tracked.mean, tracked.part)
		logs[tracked.mean.Name] = tracked.mean
	}
	return total, logs
}

// meanOfBatches adds a batch to a mean of batches. Each batch counts as one, however many examples it has: the parts of
// N replicas count 1/N each.
func meanOfBatches(s *keras.Step, mean *metrics.Mean, part *ops.Tensor) {
	n := float64(s.NumReplicasInSync())
	mean.UpdateValues(ops.MultiplyScalar(part, n), ops.Scalar(part, 1/n))
}

func (d *Distiller) studentLoss(s *keras.Step, outputs []*ops.Tensor) *ops.Tensor {
	var total *ops.Tensor
	for _, part := range s.OutputLosses(outputs...) {
		switch {
		case part == nil:
		case total == nil:
			total = part
		default:
			total = ops.Add(total, part)
		}
	}
	if total == nil {
		ops.Failf(s.Graph(), "Distiller: Compile was given no loss for the student; set CompileConfig.Loss, or StudentLossWeight 0")
	}
	return total
}

// distilled sums the weighted losses between the two models.
func (d *Distiller) distilled(s *keras.Step, c *layers.Context, outputs []*ops.Tensor) *ops.Tensor {
	names := d.names()
	teacherOutputs, teacherFeatures := features(s.Inference(), d.Teacher, names[0], s.X)
	var studentFeatures map[string][]*ops.Tensor
	if len(names[1]) > 0 {
		_, studentFeatures = features(c, d.Student, names[1], s.X)
	}
	var total *ops.Tensor
	for i, l := range d.Losses {
		teacher, student := teacherOutputs, outputs
		if f, ok := l.(FeatureLoss); ok {
			t, u := f.LayerNames()
			if t != "" {
				teacher = teacherFeatures[t]
			}
			if u != "" {
				student = studentFeatures[u]
			}
		}
		if len(teacher) != len(student) {
			ops.Failf(s.Graph(), "Distiller: %T compares %d tensors of the teacher with %d of the student; expected the same number", l, len(teacher), len(student))
		}
		fixed := make([]*ops.Tensor, len(teacher))
		for k, x := range teacher {
			fixed[k] = ops.StopGradient(x)
		}
		part := l.ComputeLoss(s, fixed, student)
		if part == nil || part.Rank() != 0 {
			ops.Failf(s.Graph(), "Distiller: %T.ComputeLoss returned %v; expected a scalar, this replica's part of the loss", l, part)
		}
		if d.LossWeights != nil {
			part = ops.MultiplyScalar(part, d.LossWeights[i])
		}
		if total != nil {
			part = ops.Add(promote(total, part))
		}
		total = part
	}
	return total
}

// promote converts two losses to a common type.
func promote(a, b *ops.Tensor) (x, y *ops.Tensor) {
	d := ops.Promote(a.DType(), b.DType())
	return ops.Cast(a, d), ops.Cast(b, d)
}

// names lists the layers of the teacher and the student whose results are needed.
func (d *Distiller) names() (names [2]map[string]bool) {
	names = [2]map[string]bool{{}, {}}
	for _, l := range d.Losses {
		f, ok := l.(FeatureLoss)
		if !ok {
			continue
		}
		teacher, student := f.LayerNames()
		for i, name := range []string{teacher, student} {
			if name != "" {
				names[i][name] = true
			}
		}
	}
	return names
}

// features calls a model and returns its outputs, and the results of the named layers.
func features(c *layers.Context, m *keras.Model, names map[string]bool, x []*ops.Tensor) ([]*ops.Tensor, map[string][]*ops.Tensor) {
	found := map[string][]*ops.Tensor{}
	wanted := map[any]string{}
	for name := range names {
		l, err := m.GetLayer(name)
		if err != nil {
			ops.Fail(c.Graph(), err)
		}
		wanted[l] = name
	}
	watching := *c
	watching.Watch = func(layer any, _, results []*ops.Tensor) {
		if name, ok := wanted[layer]; ok {
			if _, again := found[name]; again {
				ops.Failf(c.Graph(), "Distiller: layer %q of model %q is called several times, so its result is not known; name another layer", name, m.Name())
			}
			found[name] = results
		}
	}
	outputs := m.CallAll(&watching, x...)
	for name := range names {
		if found[name] == nil {
			ops.Failf(c.Graph(), "Distiller: model %q did not call its layer %q; name another layer", m.Name(), name)
		}
	}
	return outputs, found
}
