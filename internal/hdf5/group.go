package hdf5

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
)

// errDatatype marks committed data types, which Walk skips.
var errDatatype = fmt.Errorf("%w: committed data type", ErrUnsupported)

// Group is a folder of an HDF5 file.
type Group struct {
	object
	parent *Group

	load  sync.Once
	names []string
	links links
	err   error

	mutex    sync.Mutex
	children map[string]Object
}

// readLinks reads the members once.
func (g *Group) readLinks() error {
	g.load.Do(func() {
		g.links = links{byName: map[string]link{}, meter: g.f.ledger.open(g.f, g.header.address, "group")}
		g.err = g.readAllLinks()
		g.f.ledger.close(g.f, g.header.address, g.links.meter)
		if g.err != nil {
			g.err = fmt.Errorf("group %q: %w", g.path, g.err)
			return
		}
		for name := range g.links.byName {
			g.names = append(g.names, name)
		}
		sort.Strings(g.names)
	})
	return g.err
}

func (g *Group) readAllLinks() error {
	f, h := g.f, g.header
	if c, err := h.find(f, messageSymbolTable, "symbol table"); err != nil {
		return err
	} else if c != nil {
		return f.readSymbolTable(c, &g.links)
	}
	for _, m := range h.messages {
		if m.kind == messageLink {
			if err := readLink(f.cursor(m.body, "link"), &g.links); err != nil {
				return err
			}
		}
	}
	c, err := h.find(f, messageLinkInfo, "link information")
	if c == nil || err != nil {
		return err
	}
	d, err := readLinkInfo(c)
	if err != nil {
		return err
	}
	return d.walk(f, recordLink, g.links.meter, func(body []byte, _ uint8) error {
		return readLink(f.cursor(body, "link"), &g.links)
	})
}

// Names lists the members, links included, in the order of their names, byte by byte ("0", "1", "10", "2").
func (g *Group) Names() ([]string, error) {
	if err := g.readLinks(); err != nil {
		return nil, err
	}
	return append([]string(nil), g.names...), nil
}

// Has says whether path leads to an object that can be opened.
func (g *Group) Has(path string) bool {
	_, err := g.Lookup(path)
	return err == nil
}

// Lookup opens the object at path, which is relative to g unless it starts with "/". Errors wrap ErrNotFound, ErrLink,
// ErrCorrupt or ErrUnsupported.
func (g *Group) Lookup(path string) (Object, error) {
	at := g
	if strings.HasPrefix(path, "/") {
		for at.parent != nil {
			at = at.parent
		}
	}
	var o Object = at
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." {
			continue
		}
		folder, ok := o.(*Group)
		if !ok {
			return nil, fmt.Errorf("hdf5: %q in %q: %w: %q is a dataset, not a group", path, g.path, ErrNotFound, o.Path())
		}
		var err error
		if o, err = folder.child(part); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// child opens the member with a name.
func (g *Group) child(name string) (Object, error) {
	if err := g.readLinks(); err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(g.path, "/") + "/" + name
	if len(path) > maxPath {
		return nil, unsupported("a path of %d bytes, at most %d: %q", len(path), maxPath, clip(path))
	}
	entry, ok := g.links.byName[name]
	if !ok {
		return nil, fmt.Errorf("hdf5: %q: %w", path, ErrNotFound)
	}
	switch entry.kind {
	case softLink:
		return nil, fmt.Errorf("hdf5: %q: %w: it is a soft link to %q", path, ErrLink, clip(entry.soft))
	case externalLink:
		return nil, fmt.Errorf("hdf5: %q: %w: it is an external link to %q", path, ErrLink, clip(entry.soft))
	case otherLink:
		return nil, fmt.Errorf("hdf5: %q: %w: it is a user-defined link", path, ErrLink)
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if o, ok := g.children[name]; ok {
		return o, nil
	}
	o, err := g.f.openObject(entry.address, path, g)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	if g.children == nil {
		g.children = map[string]Object{}
	}
	g.children[name] = o
	return o, nil
}

// Group opens the group at path; a dataset there is an error.
func (g *Group) Group(path string) (*Group, error) {
	o, err := g.Lookup(path)
	if err != nil {
		return nil, err
	}
	if group, ok := o.(*Group); ok {
		return group, nil
	}
	return nil, fmt.Errorf("hdf5: %q is a dataset, expected a group", o.Path())
}

// Dataset opens the dataset at path; a group there is an error.
func (g *Group) Dataset(path string) (*Dataset, error) {
	o, err := g.Lookup(path)
	if err != nil {
		return nil, err
	}
	if dataset, ok := o.(*Dataset); ok {
		return dataset, nil
	}
	return nil, fmt.Errorf("hdf5: %q is a group, expected a dataset", o.Path())
}

// Walk calls visit for every object below g, a group before its members, members in the order of their names, with the
// path relative to g ("layers/dense/vars/0"). Links are not followed and committed data types are skipped; an object
// with several names is visited under the first one. A group that contains itself is an error. Walk stops at the first
// error and returns it.
func (g *Group) Walk(visit func(path string, o Object) error) error {
	w := walker{visit: visit, open: map[uint64]bool{}, done: map[uint64]bool{}}
	return w.group(g, "")
}

type walker struct {
	visit func(path string, o Object) error
	open  map[uint64]bool // the groups around the present one
	done  map[uint64]bool
}

func (w *walker) group(g *Group, prefix string) error {
	if err := g.readLinks(); err != nil {
		return err
	}
	w.open[g.header.address] = true
	defer delete(w.open, g.header.address)
	if len(w.open) > maxDepth {
		return corrupt("groups nested more than %d deep", maxDepth)
	}
	for _, name := range g.names {
		entry := g.links.byName[name]
		switch {
		case entry.kind != hardLink:
			continue
		case w.open[entry.address]:
			return corrupt("group %q contains itself as %q (a cycle)", g.path, clip(name))
		case w.done[entry.address]:
			continue
		}
		w.done[entry.address] = true
		if err := w.member(g, prefix, name); err != nil {
			return err
		}
	}
	return nil
}

// Limits far beyond any model: how deep groups may be nested for Walk, and the bytes of a path.
const (
	maxDepth = 1000
	maxPath  = 4096
)

func (w *walker) member(g *Group, prefix, name string) error {
	o, err := g.child(name)
	if errors.Is(err, errDatatype) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := w.visit(prefix+name, o); err != nil {
		return err
	}
	if group, ok := o.(*Group); ok {
		return w.group(group, prefix+name+"/")
	}
	return nil
}
