package hdf5

import (
	"fmt"
	"sort"
	"sync"
)

// Object is a *[Group] or a *[Dataset].
type Object interface {
	// Path is the absolute path by which the object was reached, such as "/layers/dense".
	Path() string
	// Attributes lists the attributes in the order of their names.
	Attributes() ([]*Attribute, error)
	// Attribute gives one attribute, or an error that wraps ErrNotFound.
	Attribute(name string) (*Attribute, error)

	isObject()
}

// object is what groups and datasets share.
type object struct {
	f      *File
	path   string
	header *header

	once       sync.Once
	attributes []*Attribute
	err        error
}

func (*object) isObject() {}

// Path is the absolute path by which the object was reached, such as "/layers/dense".
func (o *object) Path() string { return o.path }

// Attributes lists the attributes in the order of their names.
func (o *object) Attributes() ([]*Attribute, error) {
	o.once.Do(func() {
		if o.attributes, o.err = o.readAttributes(); o.err != nil {
			o.err = fmt.Errorf("attributes of %q: %w", o.path, o.err)
		}
	})
	return o.attributes, o.err
}

// Attribute gives one attribute, or an error that wraps ErrNotFound.
func (o *object) Attribute(name string) (*Attribute, error) {
	all, err := o.Attributes()
	if err != nil {
		return nil, err
	}
	i := sort.Search(len(all), func(i int) bool { return all[i].name >= name })
	if i == len(all) || all[i].name != name {
		return nil, fmt.Errorf("hdf5: attribute %q of %q: %w", name, o.path, ErrNotFound)
	}
	return all[i], nil
}

// readAttributes reads the attributes, from messages in the header and from a fractal heap.
func (o *object) readAttributes() ([]*Attribute, error) {
	f := o.f
	var all []*Attribute
	add := func(m message) error {
		body, err := f.body(m, messageAttribute, "attribute")
		if err != nil {
			return err
		}
		a, err := parseAttribute(f.cursor(body, "attribute"))
		if err != nil {
			return err
		}
		a.owner = o.path
		all = append(all, a)
		return nil
	}
	for _, m := range o.header.messages {
		if m.kind == messageAttribute {
			if err := add(m); err != nil {
				return nil, err
			}
		}
	}
	c, err := o.header.find(f, messageAttributeInfo, "attribute information")
	if err != nil {
		return nil, err
	}
	if c != nil {
		d, err := readAttributeInfo(c)
		if err != nil {
			return nil, err
		}
		m := f.ledger.open(f, o.header.address, "dense attributes")
		defer func() { f.ledger.close(f, o.header.address, m) }()
		err = d.walk(f, recordAttribute, m, func(body []byte, flags uint8) error {
			return add(message{kind: messageAttribute, flags: flags, body: body})
		})
		if err != nil {
			return nil, err
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	for i := 1; i < len(all); i++ {
		if all[i].name == all[i-1].name {
			return nil, corrupt("two attributes named %q", clip(all[i].name))
		}
	}
	return all, nil
}

// openObject opens the object whose header is at an address. parent is nil for the root.
func (f *File) openObject(address uint64, path string, parent *Group) (Object, error) {
	h, err := f.readHeader(address)
	if err != nil {
		return nil, err
	}
	switch {
	case h.has(messageLayout) || h.has(messageDataspace):
		d := &Dataset{object: object{f: f, path: path, header: h}}
		return d, d.read()
	case h.has(messageSymbolTable) || h.has(messageLinkInfo) || h.has(messageLink) || h.has(messageGroupInfo):
		return &Group{object: object{f: f, path: path, header: h}, parent: parent}, nil
	case h.has(messageDatatype):
		return nil, fmt.Errorf("hdf5: %w, expected a group or a dataset", errDatatype)
	}
	return nil, corrupt("the object at %#x is neither a group nor a dataset", address)
}
