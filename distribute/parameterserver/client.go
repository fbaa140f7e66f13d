package parameterserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/internal/shared"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/kernels/ir"
)

// client accesses the variables on all servers.
type client struct {
	s     *settings
	links []*link // by group of tables
	// routes say which servers answer for the groups; nil if variables have one copy.
	routes *routes

	mu        sync.Mutex
	variables map[string]*parameters.Variable
}

func newClient(s *settings) (*client, error) {
	c := &client{s: s, variables: map[string]*parameters.Variable{}}
	if err := s.checkSecurity(); err != nil {
		return nil, err
	}
	for _, m := range s.servers {
		l, err := s.newLink(m)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		l.group = len(c.links)
		if s.noSharing {
			l.lanes.refused = true
			l.roomless.Store(true)
		}
		c.links = append(c.links, l)
	}
	if s.Replicas > 1 {
		c.routes = newRoutes(c.links)
		for _, l := range c.links {
			l.routes = c.routes
		}
	}
	return c, nil
}

func (c *client) close() error {
	var err error
	for _, l := range c.links {
		l.lanes.close()
		err = errors.Join(err, l.conn.Close())
	}
	return err
}

// each calls f for some servers at the same time and returns the first error.
func (c *client) each(servers []int, f func(server int) error) error {
	if len(servers) == 1 {
		return f(servers[0])
	}
	errs := make([]error, len(servers))
	var wait sync.WaitGroup
	for i, server := range servers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			errs[i] = f(server)
		}()
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil && errors.Is(err, protocol.ErrStale) {
			return err
		}
	}
	return errors.Join(errs...)
}

func (c *client) all() []int {
	out := make([]int, len(c.links))
	for i := range out {
		out[i] = i
	}
	return out
}

// execute executes a command on a server.
func (c *client) execute(ctx context.Context, server int, command protocol.Command) (protocol.Reply, error) {
	return c.executeIn(ctx, server, command, nil)
}

// executeIn is execute for a command some of whose values may be in rooms, as its updates say.
func (c *client) executeIn(ctx context.Context, server int, command protocol.Command, rooms []*shared.Room) (protocol.Reply, error) {
	e := &exchange{link: c.links[server], method: "Execute", rooms: rooms, build: func(w *protocol.Writer, inPlace bool) { encodeIn(w, command, inPlace) }}
	r, done, err := e.do(ctx, protocol.SizeOf(command), 0, c.s.ServerTimeout)
	defer done()
	if err != nil {
		return protocol.Reply{}, err
	}
	reply := protocol.Reply{Repeated: r.Bool(), Number: uint32(r.Uint())}
	return reply, r.End()
}

// listed is a table as a server lists it.
type listed struct {
	protocol.Definition
	version, step uint64
	rows          int
}

// listing is what a server holds.
type listing struct {
	term      uint64
	settled   protocol.Settled
	tables    []listed
	staleness parameters.Staleness
}

// list returns what a server holds.
func (c *client) list(ctx context.Context, server int, patience time.Duration) (l listing, err error) {
	r, err := c.links[server].call(ctx, "List", nil, patience)
	if err != nil {
		return l, err
	}
	l.term = r.Uint()
	l.settled.Decode(r)
	for range r.Count(8) {
		var t listed
		t.Decode(r)
		t.version, t.step, t.rows = r.Uint(), r.Uint(), r.Int()
		if r.Err() != nil {
			break
		}
		l.tables = append(l.tables, t)
	}
	l.staleness = parameters.Staleness{Gradients: r.Uint(), Sum: r.Uint(), Max: r.Uint()}
	return l, r.End()
}

// refresh asks the servers which variables exist.
func (c *client) refresh(ctx context.Context) error {
	found, err := c.survey(ctx, c.s.ServerTimeout)
	if err != nil {
		return err
	}
	variables := map[string]*parameters.Variable{}
	for server, one := range found {
		for number, t := range one.tables {
			v := variables[t.Variable]
			if v == nil {
				shape, err := parseShape(t.Shape)
				if err != nil {
					return err
				}
				v = &parameters.Variable{Name: t.Variable, Shape: shape, Width: t.Width, Dynamic: t.Dynamic}
				variables[t.Variable] = v
			}
			v.Shards = append(v.Shards, parameters.Shard{First: t.First, Rows: t.Rows, Server: server, Number: uint32(number)})
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, v := range variables {
		sort.Slice(v.Shards, func(i, j int) bool { return v.Shards[i].First < v.Shards[j].First })
		rows := 0
		for _, s := range v.Shards {
			rows += s.Rows
		}
		if !v.Dynamic && rows != v.Rows() {
			continue // it is being made
		}
		if c.variables[name] == nil {
			c.variables[name] = v
		}
	}
	return nil
}

func formatShape(s ir.Shape) string {
	words := make([]string, len(s))
	for i, n := range s {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

func parseShape(text string) (ir.Shape, error) {
	if text == "" {
		return ir.Shape{}, nil
	}
	var s ir.Shape
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%w: %q is not a shape", protocol.ErrMessage, text)
		}
		s = append(s, n)
	}
	return s, nil
}

// find returns a variable.
func (c *client) find(ctx context.Context, name string) (*parameters.Variable, error) {
	for range 2 {
		c.mu.Lock()
		v := c.variables[name]
		c.mu.Unlock()
		if v != nil {
			return v, nil
		}
		if err := c.refresh(ctx); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("parameterserver: there is no variable %q on the servers; the coordinator makes variables before it schedules closures that use them", name)
}

// create makes a variable. term is the coordinator's.
func (c *client) create(ctx context.Context, term uint64, spec parameters.Spec) (*parameters.Variable, bool, error) {
	c.mu.Lock()
	existing := c.variables[spec.Name]
	c.mu.Unlock()
	v, definitions, err := c.layout(spec, existing)
	if err != nil {
		return nil, false, err
	}
	created := false
	for i := range definitions {
		reply, err := c.execute(ctx, v.Shards[i].Server, &protocol.Create{Term: term, Definition: definitions[i]})
		if err != nil {
			return nil, false, err
		}
		v.Shards[i].Number = reply.Number
		created = created || !reply.Repeated
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.variables[spec.Name] = v
	return v, created, nil
}

// cut returns the shards of a new variable.
func (c *client) cut(spec parameters.Spec) (parts []partitioners.Shard, err error) {
	if spec.Dynamic { // a shard on each server
		for i := range c.links {
			parts = append(parts, partitioners.Shard{Name: spec.Name + "/part_" + strconv.Itoa(i)})
		}
		return parts, nil
	}
	cut := c.s.VariablePartitioner
	if spec.Constraint.AcrossRows() {
		cut = nil // the lengths of columns depend on all rows
	}
	return partitioners.Cut(cut, spec.Name, spec.Shape, 4)
}

// definition is what a server learns about one of the shards of a variable.
func definition(spec parameters.Spec, part partitioners.Shard, first, width, shards int) protocol.Definition {
	d := protocol.Definition{
		Name: part.Name, Variable: spec.Name, Shape: formatShape(spec.Shape), First: first, Rows: part.Rows, Width: width,
		Rule: spec.Rule, Constraint: spec.Constraint, Init: spec.Init,
		Dynamic: spec.Dynamic, MaxAge: spec.MaxAge, Policy: spec.Policy, Text: spec.Text,
	}
	if spec.MaxRows > 0 {
		d.MaxRows = (spec.MaxRows + shards - 1) / shards
	}
	d.Init.Seed += uint64(first) // rows are numbered in their shard
	if spec.Dynamic {
		d.Init.Seed = spec.Init.Seed // and by their keys here
	}
	return d
}

// layout decides the shards of a variable; an existing variable keeps its shards.
func (c *client) layout(spec parameters.Spec, existing *parameters.Variable) (*parameters.Variable, []protocol.Definition, error) {
	if spec.Name == "" {
		return nil, nil, errors.New("parameterserver: a variable needs a name, by which workers find it")
	}
	for _, n := range spec.Shape {
		if n < 0 {
			return nil, nil, fmt.Errorf("parameterserver: variable %s has the shape %v; expected lengths of at least 0", spec.Name, spec.Shape)
		}
	}
	v := &parameters.Variable{Name: spec.Name, Shape: spec.Shape.Clone(), Dynamic: spec.Dynamic, Width: 1}
	inner := spec.Shape
	if !spec.Dynamic && len(inner) > 0 {
		inner = inner[1:]
	}
	v.Width = inner.Size()
	parts, err := c.cut(spec)
	if err != nil {
		return nil, nil, err
	}
	if existing != nil {
		if !existing.Shape.Equal(spec.Shape) || existing.Dynamic != spec.Dynamic {
			return nil, nil, fmt.Errorf("parameterserver: variable %s exists with the shape %v, received %v; give it another name, or start the servers with empty directories", spec.Name, existing.Shape, spec.Shape)
		}
		parts = parts[:0]
		for i, s := range existing.Shards {
			name := spec.Name
			if len(existing.Shards) > 1 || spec.Dynamic {
				name += "/part_" + strconv.Itoa(i)
			}
			parts = append(parts, partitioners.Shard{Name: name, First: s.First, Rows: s.Rows})
		}
	}
	var definitions []protocol.Definition
	for i, p := range parts {
		server := i
		switch {
		case existing != nil:
			server = existing.Shards[i].Server
		case !spec.Dynamic:
			if server = c.s.Placement.Place(4*p.Rows*v.Width, len(c.links)); server < 0 || server >= len(c.links) {
				return nil, nil, fmt.Errorf("parameterserver: Options.Placement chose server %d for %s; there are %d", server, p.Name, len(c.links))
			}
		}
		first := p.First
		if spec.Dynamic {
			first = i
		}
		v.Shards = append(v.Shards, parameters.Shard{First: first, Rows: p.Rows, Server: server})
		d := definition(spec, p, first, v.Width, len(parts))
		if err := d.Check(); err != nil {
			return nil, nil, err
		}
		definitions = append(definitions, d)
	}
	return v, definitions, nil
}

// shardOf returns the shard of a key of a dynamic table.
func shardOf(key int64, shards int) int {
	h := uint64(key) * 0x9E3779B97F4A7C15
	return int((h >> 32) % uint64(shards))
}

// split divides ids among the shards. For each shard, places lists the positions of its ids in ids, and local their
// numbers in the shard.
func split(v *parameters.Variable, ids []int64) (places [][]int32, local [][]int64, err error) {
	for i := 1; i < len(ids); i++ {
		if ids[i-1] >= ids[i] {
			return nil, nil, fmt.Errorf("parameterserver: variable %s: rows %d and %d: expected increasing rows, each once; see parameters.Distinct", v.Name, ids[i-1], ids[i])
		}
	}
	places, local = make([][]int32, len(v.Shards)), make([][]int64, len(v.Shards))
	if v.Dynamic {
		for i, id := range ids {
			shard := shardOf(id, len(v.Shards))
			places[shard], local[shard] = append(places[shard], int32(i)), append(local[shard], id)
		}
		return places, local, nil
	}
	if n := len(ids); n > 0 && (ids[0] < 0 || ids[n-1] >= int64(v.Rows())) {
		bad := ids[0]
		if bad >= 0 {
			bad = ids[n-1]
		}
		return nil, nil, fmt.Errorf("parameterserver: variable %s has rows 0 to %d; received row %d", v.Name, v.Rows()-1, bad)
	}
	from := 0
	for shard, s := range v.Shards { // rows of a shard are in a row
		n, _ := slices.BinarySearch(ids[from:], int64(s.First+s.Rows))
		own := make([]int32, n)
		for i := range own {
			own[i] = int32(from + i)
		}
		places[shard], local[shard] = own, ids[from:from+n:from+n]
		if s.First > 0 {
			local[shard] = make([]int64, n)
			for i, id := range ids[from : from+n] {
				local[shard][i] = id - int64(s.First)
			}
		}
		from += n
	}
	return places, local, nil
}
