package estimator

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/saving"
)

// WarmStartSettings initialize the variables of a new model from another one: tf.estimator.WarmStartSettings. They take
// effect when training begins without a checkpoint of its own.
type WarmStartSettings struct {
	// CkptToInitializeFrom is a checkpoint without its extension, or a folder of checkpoints, whose latest one is used.
	CkptToInitializeFrom string
	// VarsToWarmStart is a regular expression that selects the variables to initialize; it must match at the beginning
	// of a name. "" selects all. As in TensorFlow, only trainable variables are considered.
	VarsToWarmStart string
	// VarNameToPrevVarName maps variables to their names in the checkpoint, if those differ.
	VarNameToPrevVarName map[string]string
}

// validate reports settings that cannot be read.
func (w *WarmStartSettings) validate() error {
	if w == nil {
		return nil
	}
	if w.CkptToInitializeFrom == "" {
		return errors.New("estimator: WarmStartSettings: `ckpt_to_initialize_from` MUST be set; CkptToInitializeFrom is empty")
	}
	_, err := w.pattern()
	return err
}

func (w *WarmStartSettings) pattern() (*regexp.Regexp, error) {
	p, err := regexp.Compile("^(?:" + w.VarsToWarmStart + ")")
	if err != nil {
		return nil, fmt.Errorf("estimator: WarmStartSettings: VarsToWarmStart: %w", err)
	}
	return p, nil
}

// checkpoint returns the path of the checkpoint.
func (w *WarmStartSettings) checkpoint() (string, error) {
	latest, err := LatestCheckpoint(w.CkptToInitializeFrom)
	if err != nil || latest == "" {
		return w.CkptToInitializeFrom, nil // not a folder of checkpoints
	}
	return latest, nil
}

// apply initializes new variables.
func (w *WarmStartSettings) apply(variables distribute.Variables) error {
	pattern, err := w.pattern()
	if err != nil {
		return err
	}
	path, err := w.checkpoint()
	if err != nil {
		return err
	}
	return openCheckpoint(path, func(s *saving.Safetensors) error {
		for _, v := range variables {
			if v.Spec().Frozen || !pattern.MatchString(v.Path()) {
				continue
			}
			if err := w.take(s, v); err != nil {
				return fmt.Errorf("warm start: %w", err)
			}
		}
		return nil
	})
}

// take initializes one variable.
func (w *WarmStartSettings) take(s *saving.Safetensors, v *distribute.Variable) error {
	name := v.Path()
	if other, ok := w.VarNameToPrevVarName[name]; ok {
		name = other
	}
	at := slices.Index(s.Names, name)
	if at < 0 {
		return fmt.Errorf("variable %s: there is no %q in the checkpoint; leave it out of VarsToWarmStart, or name it in VarNameToPrevVarName", v.Path(), name)
	}
	a, err := s.Value(at)
	if err != nil {
		return fmt.Errorf("variable %s: %w", v.Path(), err)
	}
	if t := v.Type(); a.Type.DType != t.DType || !a.Type.Shape.Equal(t.Shape) {
		return fmt.Errorf("variable %s is %v, and %q in the checkpoint %v", v.Path(), t, name, a.Type)
	}
	return v.SetValue(a)
}
