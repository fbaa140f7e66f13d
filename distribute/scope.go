package distribute

import (
	"errors"
	"fmt"
)

// ScopeOption carries a strategy to a model: keras.NewSequential(layers, distribute.Scope(strategy)).
type ScopeOption struct{ strategy Strategy }

// Scope makes a model create its variables under the strategy. Code is never "inside" a scope: the strategy is a value
// that is passed where it is needed.
func Scope(s Strategy) ScopeOption { return ScopeOption{inside(s)} }

// ScopeStrategy returns the strategy of the scope.
func (o ScopeOption) ScopeStrategy() Strategy { return o.strategy }

// LoadScope is ScopeStrategy for functions that read models.
func (o ScopeOption) LoadScope() Strategy { return o.strategy }

// NewVariable makes a variable that belongs to the strategy.
func (o ScopeOption) NewVariable(spec VariableSpec) (*Variable, error) {
	if o.strategy == nil {
		return nil, errors.New("distribute: the scope has no strategy; make one with distribute.Scope(strategy)")
	}
	v := NewVariable(spec)
	if err := v.Place(o.strategy, 0); err != nil {
		return nil, err
	}
	return v, nil
}

// Nest combines the strategies of two scopes that apply to the same thing: the same strategy twice is fine, different
// ones are an error, and so is the default strategy inside another. nil stands for no scope.
func Nest(outer, inner Strategy) (Strategy, error) {
	outer, inner = inside(outer), inside(inner)
	switch {
	case outer == nil:
		return inner, nil
	case inner == nil || outer == inner:
		return outer, nil
	case inner == Default():
		return nil, fmt.Errorf("distribute: the scope of the default strategy must not be nested in that of %v%s; leave one of the two out", outer, outer.Placement().MadeAt())
	}
	return nil, fmt.Errorf("distribute: mixing different strategies: %v%s is not %v%s; use one strategy object for all parts of a model",
		outer, outer.Placement().MadeAt(), inner, inner.Placement().MadeAt())
}
