package layers

// AttributeNamer is implemented by layers that consist of others. Keras files call those by the attribute that holds
// them ("lstm/cell", "bidirectional/forward_layer", "multi_head_attention/query_dense").
type AttributeNamer interface {
	// MemberAttributes returns the attribute of each of the layer's [Sublayers], once it is built. Members of equal
	// attribute are those of a list in order. A name that ends in "[]" is that of a list, too, which may have one
	// member ("cells[]"): Keras keeps such a member one level deeper than one that is no list ("cells/lstm_cell").
	MemberAttributes() []string
}

// adoptOnly is Adopt for layers whose members are all made in Build; those of an earlier Build are forgotten.
func (b *Builder) adoptOnly(members ...Layer) {
	b.base.sublayers = nil
	b.Adopt(members...)
}
