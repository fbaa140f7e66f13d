package layers

// Trainable reports whether the layer's own variables are trained.
func (b *Base) Trainable() bool {
	if b.self == nil {
		return true
	}
	return !b.isFrozen()
}

// SetTrainable freezes or thaws the layer and its sub-layers, as setting the field Frozen does when the layer is in
// use. (In the literal of a layer, the field does not affect layers that the layer is given, like the argument of
// Keras's constructors.) A model that has been trained must be compiled again for the change to take effect; until then
// its steps stay the same.
func SetTrainable(l Layer, trainable bool) {
	Walk(l, func(l Layer) { attach(l).freeze(!trainable) })
}

// setTrainable is SetTrainable for a layer whose field was set.
func (b *Base) setTrainable(trainable bool) {
	b.freeze(!trainable)
	for _, s := range b.sublayers {
		SetTrainable(s, trainable)
	}
}

func (b *Base) freeze(frozen bool) {
	if b.frozen != frozen {
		b.frozen = frozen
		revisions.Add(1) // for those who keep what depends on it
	}
	if b.field != nil && *b.field != frozen {
		*b.field = frozen
	}
}

// isFrozen applies a change of the field Frozen. Predictions never call it, so they may run at the same time.
func (b *Base) isFrozen() bool {
	if b.field != nil && *b.field != b.frozen {
		b.setTrainable(!*b.field)
	}
	return b.frozen
}

// FreezeAlone freezes a layer and leaves the layers inside it as they are: its own variables are not trained, those of
// the others may be. Files describe frozen models in this way, because layers inside them may have been thawed later.
func FreezeAlone(l Layer) { attach(l).freeze(true) }

// frozenIn reports whether the layer is not trained in a trace.
func (b *Base) frozenIn(c *Context) bool {
	if c.Frozen != nil && b.self != nil {
		return c.Frozen(b.self)
	}
	return b.isFrozen()
}
