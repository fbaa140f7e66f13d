package distillation

import (
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/losses"
)

// Loss compares the teacher's results with the student's, Keras's DistillationLoss.
type Loss interface {
	// ComputeLoss returns this replica's part of the loss, a scalar: see [keras.Step]. teacher and student are the
	// outputs of the two models, or the results of the layers that LayerNames of a [FeatureLoss] names. No gradient
	// flows into teacher.
	ComputeLoss(s *keras.Step, teacher, student []*ops.Tensor) *ops.Tensor
}

// FeatureLoss is a Loss that compares the results of layers.
type FeatureLoss interface {
	Loss
	// LayerNames returns the names of a layer of the teacher and one of the student; "" stands for the outputs of the
	// model.
	LayerNames() (teacher, student string)
}

// LogitsDistillation compares the outputs of both models, divided by a temperature T. With the Kullback-Leibler
// divergence, the default, that is
//
//	T² · KL(softmax(teacher/T), softmax(student/T))
//
// Any other loss is computed from teacher/T and student/T themselves.
//
// This is what Keras documents, and what it computes for loss=keras.losses.KLDivergence(). By default, and for the name
// "kl_divergence", Keras 3.15.1 instead takes the divergence of the divided outputs themselves, clipped to 0 and 1,
// because it looks for the class but finds the function.
type LogitsDistillation struct {
	Temperature float64 // positive; 0 is 3. Higher temperatures make the teacher's answers softer; 3 to 5 are common
	// Loss is a name, a losses.Loss, or for models with several outputs a []any of these, with nil for outputs without
	// a loss. nil is "kl_divergence".
	Loss any
}

// ComputeLoss implements [Loss].
func (l *LogitsDistillation) ComputeLoss(s *keras.Step, teacher, student []*ops.Tensor) *ops.Tensor {
	t := l.temperature()
	return sumOf(s, l.Loss, "kl_divergence", teacher, student, func(loss losses.Loss, teacher, student *ops.Tensor) *ops.Tensor {
		teacher, student = ops.DivideScalar(teacher, t), ops.DivideScalar(student, t)
		if _, ok := loss.(*losses.KLDivergence); !ok {
			return mean(loss, teacher, student)
		}
		return ops.MultiplyScalar(mean(loss, ops.Softmax(teacher, -1), ops.Softmax(student, -1)), t*t)
	})
}

func (l *LogitsDistillation) temperature() float64 {
	if l.Temperature == 0 {
		return 3
	}
	return l.Temperature
}

func (l *LogitsDistillation) check(_, _ *keras.Model) error {
	if !(l.temperature() > 0) {
		return fmt.Errorf("LogitsDistillation: Temperature %g; expected a positive number, or 0 for 3", l.Temperature)
	}
	_, err := lossesOf(l.Loss, "kl_divergence")
	return err
}

// FeatureDistillation compares the results of two layers or, without names, the outputs of both models. They must have
// the same shape unless the loss accepts others.
type FeatureDistillation struct {
	// Loss is as in LogitsDistillation; nil is "mse".
	Loss any
	// TeacherLayerName and StudentLayerName name direct layers of the models, each called once; "" stands for the
	// outputs. A student's name without a teacher's name is an error; Keras ignores it.
	TeacherLayerName, StudentLayerName string
}

// ComputeLoss implements [Loss].
func (l *FeatureDistillation) ComputeLoss(s *keras.Step, teacher, student []*ops.Tensor) *ops.Tensor {
	return sumOf(s, l.Loss, "mse", teacher, student, mean)
}

// LayerNames implements [FeatureLoss].
func (l *FeatureDistillation) LayerNames() (teacher, student string) {
	return l.TeacherLayerName, l.StudentLayerName
}

func (l *FeatureDistillation) check(teacher, student *keras.Model) error {
	if l.StudentLayerName != "" && l.TeacherLayerName == "" {
		return fmt.Errorf("FeatureDistillation: StudentLayerName %q without a TeacherLayerName; name both", l.StudentLayerName)
	}
	if l.TeacherLayerName != "" {
		if _, err := teacher.GetLayer(l.TeacherLayerName); err != nil {
			return fmt.Errorf("FeatureDistillation: the teacher: %w", err)
		}
	}
	if l.StudentLayerName != "" {
		if _, err := student.GetLayer(l.StudentLayerName); err != nil {
			return fmt.Errorf("FeatureDistillation: the student: %w", err)
		}
	}
	_, err := lossesOf(l.Loss, "mse")
	return err
}

// mean returns the part of a loss whose sum over the replicas is the mean of its values.
func mean(loss losses.Loss, teacher, student *ops.Tensor) *ops.Tensor {
	_, reported := losses.ComputeAndReport(loss, teacher, student, nil)
	return reported
}

// lossesOf resolves a loss, or one for each output.
func lossesOf(v any, otherwise string) ([]losses.Loss, error) {
	if v == nil {
		v = otherwise
	}
	list, several := v.([]any)
	if !several {
		list = []any{v}
	}
	out, found := make([]losses.Loss, len(list)), false
	for i, v := range list {
		loss, err := losses.Get(v)
		if err != nil {
			return nil, err
		}
		out[i], found = loss, found || loss != nil
	}
	if !found {
		return nil, errors.New("all losses are nil; expected at least one")
	}
	return out, nil
}

// sumOf adds the losses of all outputs that have one.
func sumOf(s *keras.Step, v any, otherwise string, teacher, student []*ops.Tensor, part func(loss losses.Loss, teacher, student *ops.Tensor) *ops.Tensor) *ops.Tensor {
	list, err := lossesOf(v, otherwise)
	if err != nil {
		ops.Fail(s.Graph(), fmt.Errorf("Distiller: %w", err))
	}
	if len(list) != len(teacher) {
		ops.Failf(s.Graph(), "Distiller: %d losses for %d tensors of the teacher; give one for each, as []any with nil for those that are left out", len(list), len(teacher))
	}
	var total *ops.Tensor
	for i, loss := range list {
		if loss == nil {
			continue
		}
		x := part(loss, teacher[i], student[i])
		if total != nil {
			x = ops.Add(promote(total, x))
		}
		total = x
	}
	return total
}
