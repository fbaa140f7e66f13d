package layers

// AttributeNamer is implemented by layers that consist of others. Keras files name those by the attribute that holds
// them ("lstm/cell", "bidirectional/forward_layer", "multi_head_attention/query_dense").
type AttributeNamer interface {
	// MemberAttributes returns the attribute of each of the layer's [Sublayers], once it is built. Members with the
	// same attribute form a list, in order. A name that ends in "[]" ("cells[]") is also that of a list, which may have
	// a single member: Keras keeps such a member one level deeper than one outside a list ("cells/lstm_cell").
	MemberAttributes() []string
}

// adoptOnly is Adopt for layers whose members are all made in Build; members of an earlier Build are dropped.
func (b *Builder) adoptOnly(members ...Layer) {
	b.base.sublayers = nil
	b.Adopt(members...)
}
