package keras

import (
	"reflect"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/optimizers"
)

// Minimize updates variables with the gradient of a loss. The loss is this replica's part, a scalar; the gradients are
// summed over the replicas. Loss scaling is left to the optimizer (optimizers.WithLossScale). A step may use several
// optimizers, each for different variables, and one optimizer several times. An optimizer is built for the variables
// that it receives first.
//
// If optimizer is the one given to Compile, it also updates the rows of dynamic embeddings.
//
// Every variable must belong to the model and have a gradient; [Step.Apply] skips those that have none.
func (s *Step) Minimize(optimizer optimizers.Optimizer, loss *ops.Tensor, variables distribute.Variables) {
	s.check("Minimize", optimizer, variables)
	if loss == nil || loss.Rank() != 0 {
		ops.Failf(s.Graph(), "Minimize needs the loss as a scalar, received %s; reduce it with Step.Mean or losses.Compute", typeOf(loss))
	}
	if err := optimizer.Build(variables); err != nil {
		ops.Fail(s.Graph(), err)
	}
	var gradients ops.Gradients
	if rows := s.m.rowsOf(s.X); len(rows) > 0 && optimizer == s.m.compiled.optimizer {
		all := s.m.compiled.checkGradients(s.Replica, variables, ops.NewTape(s).Gradients(loss, rowSources{variables, rows})).Values
		gradients = ops.Gradients{Of: variables, Values: all[:len(variables)]}
		s.addRows(all[len(variables):])
	} else {
		gradients = s.m.compiled.checkGradients(s.Replica, variables, ops.NewTape(s).Gradients(optimizer.ScaleLoss(s.Replica, loss), variables))
	}
	var none []string
	for i, g := range gradients.Values {
		if g == nil {
			none = append(none, variables[i].Path())
		}
	}
	if len(none) > 0 {
		ops.Failf(s.Graph(), "Minimize: the loss does not depend on %s, so there is no gradient; leave these variables out of the list",
			strings.Join(none, ", "))
	}
	s.Apply(optimizer, gradients)
}

// addRows adds gradients of the rows of dynamic embeddings.
func (s *Step) addRows(grads []*ops.Tensor) {
	if s.rowGrads == nil {
		s.rowGrads = grads
		return
	}
	for i, g := range grads {
		switch {
		case g == nil:
		case s.rowGrads[i] == nil:
			s.rowGrads[i] = g
		default:
			s.rowGrads[i] = ops.Add(s.rowGrads[i], g)
		}
	}
}

// Apply updates variables from gradients of this replica's part of a loss,
//
//	gradients := ops.NewTape(s).Gradients(loss, model.TrainableVariables())
//
// which you may modify first. They are summed over the replicas. Variables without a gradient stay unchanged. An
// optimizer that scales losses needs the gradients of optimizer.ScaleLoss(s.Replica, loss), called after Build.
func (s *Step) Apply(optimizer optimizers.Optimizer, gradients ops.Gradients) {
	variables, ok := gradients.Of.(distribute.Variables)
	if !ok {
		ops.Failf(s.Graph(), "Apply needs the gradients of variables, received those of a %T; take them with tape.Gradients(loss, model.TrainableVariables())", gradients.Of)
	}
	s.check("Apply", optimizer, variables)
	if s.servers != nil {
		s.servers.take(s, optimizer, variables, gradients.Values)
	} else {
		optimizer.Apply(s.Replica, gradients)
	}
	i := slices.IndexFunc(s.applied, func(o optimized) bool { return o.optimizer == optimizer })
	if i < 0 {
		i = len(s.applied)
		s.applied = append(s.applied, optimized{optimizer: optimizer, variables: variables})
	}
	for k, g := range gradients.Values {
		v := variables[k]
		if g != nil && !slices.Contains(s.applied[i].updated, v) {
			s.applied[i].updated = append(s.applied[i].updated, v)
		}
	}
}

// check reports an error if an optimizer cannot be applied to variables.
func (s *Step) check(what string, optimizer optimizers.Optimizer, variables distribute.Variables) {
	g := s.Graph()
	if v := reflect.ValueOf(optimizer); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		ops.Failf(g, "%s: the optimizer is nil; give the model one before it is trained, as in &optimizers.Adam{}", what)
	}
	if !s.step.training {
		ops.Failf(g, "%s: a %s only measures; update weights in TrainStep", what, s.step.name)
	}
	if len(variables) == 0 {
		ops.Failf(g, "%s: there are no variables to train; a model has its variables once it was called, and frozen ones do not count", what)
	}
	own := map[*distribute.Variable]bool{}
	for _, v := range s.m.Weights() {
		own[v] = true
	}
	for _, v := range variables {
		if v == nil {
			ops.Failf(g, "%s: a variable is nil", what)
		}
		if !own[v] {
			ops.Failf(g, "%s: the variable %s does not belong to model %q, so it would not be saved with it; hold its layer in an exported field of the value that NewModel is given", what, v.Path(), s.m.Name())
		}
	}
}

// typeOf describes a tensor that may be nil.
func typeOf(t *ops.Tensor) string {
	if t == nil {
		return "nil"
	}
	return t.Type().String()
}
