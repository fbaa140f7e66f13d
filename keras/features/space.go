package features

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// Space is a set of features and crosses of them. Create one with [New] or [Load], [Space.Adapt] it to data, and encode
// with it. After it has been adapted, many goroutines may use it at once.
type Space struct {
	names     []string // in the order of the file
	features  map[string]Feature
	crosses   []Cross
	dict      bool
	defaults  [3]int // of crossing, hashing and discretization, as files store them
	pre       map[string]layers.Layer
	crossers  map[string]layers.Layer
	encoders  []layers.Layer // in the order of the results
	mutex     sync.Mutex
	model     *keras.Model
	resultsOf []string
}

// Option is an option of [New].
type Option func(*Space)

// Crosses adds features for the joint values of other features, each sorted into bins by a hash. Crossed features are
// categorical, hashed or discretized.
func Crosses(bins int, features ...[]string) Option {
	return func(s *Space) {
		s.defaults[0] = bins
		for _, names := range features {
			s.crosses = append(s.crosses, Cross{Features: slices.Clone(names), Bins: bins})
		}
	}
}

// WithCross adds one cross with settings of its own.
func WithCross(c Cross) Option { return func(s *Space) { s.crosses = append(s.crosses, c) } }

// AsDict returns every feature separately, by name. By default all are concatenated to one row: the features in the
// order of their names, then the crosses.
func AsDict() Option { return func(s *Space) { s.dict = true } }

// New returns a space of the given features, by the names of their columns.
func New(features map[string]Feature, options ...Option) (*Space, error) {
	s := &Space{features: maps.Clone(features), names: slices.Sorted(maps.Keys(features)), defaults: [3]int{32, 32, 32}}
	for _, o := range options {
		if o != nil {
			o(s)
		}
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("features: %w", err)
	}
	return s, nil
}

func (s *Space) check() error {
	if len(s.features) == 0 {
		return fmt.Errorf("there are no features; expected at least one")
	}
	s.pre, s.crossers = map[string]layers.Layer{}, map[string]layers.Layer{}
	for _, name := range s.names {
		f := s.features[name]
		if err := f.check(name); err != nil {
			return err
		}
		l := f.Preprocessor
		if layers.IsNil(l) {
			l = &layers.Identity{}
		}
		for other, taken := range s.pre {
			if taken == l {
				return fmt.Errorf("features %q and %q have one preprocessor; each needs its own", other, name)
			}
		}
		s.pre[name] = l
	}
	for _, c := range s.crosses {
		if len(c.Features) < 2 || c.Bins < 1 || c.mode() != OneHotMode && c.mode() != IntMode {
			return fmt.Errorf("cross %q needs at least two features, at least one bin, and the output mode %q or %q, received %d bins and %q", c.Name(), OneHotMode, IntMode, c.Bins, c.OutputMode)
		}
		for _, name := range c.Features {
			if _, ok := s.features[name]; !ok {
				return fmt.Errorf("cross %q has the feature %q, which is none of %v", c.Name(), name, s.names)
			}
		}
		if s.crossers[c.Name()] != nil || s.pre[c.Name()] != nil {
			return fmt.Errorf("two features are called %q", c.Name())
		}
		s.crossers[c.Name()] = &layers.HashedCrossing{Name: c.Name(), NumBins: c.Bins}
	}
	return nil
}

// Names lists the columns that the space expects.
func (s *Space) Names() []string { return slices.Clone(s.names) }

// ResultNames lists the results of the space in order: the features by name, then the crosses by name.
func (s *Space) ResultNames() []string {
	return append(slices.Sorted(slices.Values(s.names)), slices.Sorted(maps.Keys(s.crossers))...)
}

// Feature returns the feature of a column, with what its preprocessor has learned.
func (s *Space) Feature(name string) (Feature, bool) { f, ok := s.features[name]; return f, ok }

// Adapt lets the preprocessors learn from columns: means and variances, boundaries of bins, categories. The inputs of
// ds are a dict with at least the columns of the space; targets are ignored. Columns in memory are read in batches of
// 32, as in Keras.
func (s *Space) Adapt(ctx context.Context, ds data.Dataset) error {
	for _, name := range s.names {
		if !learns(s.pre[name]) {
			continue
		}
		if err := keras.Adapt(ctx, s.pre[name], &column{ds, name, s.features[name].DType == "string"}); err != nil {
			return config.PrefixedOnce(fmt.Sprintf("features: Adapt: column %q: ", name), err, "features: ", "keras: ", "layers: ", "Adapt: ")
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.model = nil
	return nil
}

// column is one column of a dataset, as (batch, 1).
type column struct {
	from data.Dataset
	name string
	text bool
}

// standing returns a vector as a matrix with one column. Text has one more axis, for its bytes.
func (c *column) standing(d data.Array) data.Array {
	shape, bytes := d.Shape(), 0
	if c.text {
		bytes = 1
	}
	if len(shape) == 1+bytes {
		d.Type.Shape = slices.Insert(slices.Clone(shape), 1, 1)
	}
	return d
}

// batchRows is the batch size for reading columns in memory.
const batchRows = 32

// Batches yields the column batch by batch.
func (c *column) Batches(ctx context.Context, epoch int) iter.Seq2[data.Batch, error] {
	return func(yield func(data.Batch, error) bool) {
		for b, err := range rows(ctx, c.from, epoch) {
			if err == nil && b.X.Get(c.name).IsZero() {
				err = fmt.Errorf("the data have no column %q, they have %v; give them as a dict of columns", c.name, b.X.Names)
			}
			if err != nil {
				yield(data.Batch{}, err)
				return
			}
			if !yield(data.Batch{X: data.List(c.standing(b.X.Get(c.name)))}, nil) {
				return
			}
		}
	}
}

// Cardinality returns the number of batches, if the stream has one.
func (c *column) Cardinality() (int, bool) { return data.Cardinality(c.from) }

// rows yields data in memory in batches.
func rows(ctx context.Context, ds data.Dataset, epoch int) iter.Seq2[data.Batch, error] {
	s, inMemory := ds.(*data.ArraySource)
	if !inMemory {
		return ds.Batches(ctx, epoch)
	}
	return func(yield func(data.Batch, error) bool) {
		if err := s.Err(); err != nil {
			yield(data.Batch{}, err)
			return
		}
		for low := 0; low < s.N(); low += batchRows {
			if !yield(s.Slice(low, min(low+batchRows, s.N())).All(), ctx.Err()) {
				return
			}
		}
	}
}

// Encoded returns a symbolic input for each column, in the order of Names, and the encoding: one tensor, or with AsDict
// one for each of ResultNames. Every call creates new tensors. A model made from them takes raw columns and shares the
// space's layers.
func (s *Space) Encoded() (inputs, encoded []*layers.KerasTensor, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if inputs, encoded, err = s.graph(); err != nil {
		return nil, nil, fmt.Errorf("features: %w", err)
	}
	return inputs, encoded, nil
}

func (s *Space) graph() (inputs, encoded []*layers.KerasTensor, err error) {
	values := map[string]*layers.KerasTensor{}
	modes := map[string]string{}
	made := map[string]layers.Layer{}
	for _, name := range s.names {
		f := s.features[name]
		x := keras.Input(keras.Shape(1), keras.InputName(name), keras.DType(f.DType))
		inputs = append(inputs, x)
		values[name], modes[name], made[name] = layers.Apply(s.pre[name], x), f.OutputMode, s.pre[name]
		if e := values[name].Err(); e != nil {
			return nil, nil, fmt.Errorf("feature %q: %w", name, e)
		}
	}
	for _, c := range s.crosses {
		in := make([]*layers.KerasTensor, len(c.Features))
		for i, name := range c.Features {
			in[i] = values[name]
		}
		name := c.Name()
		values[name], modes[name], made[name] = layers.Apply(s.crossers[name], in...), c.mode(), s.crossers[name]
		if e := values[name].Err(); e != nil {
			return nil, nil, fmt.Errorf("cross %q: %w", name, e)
		}
	}
	results := s.ResultNames()
	fresh := s.encoders == nil
	var parts []layers.Layer
	for i, name := range results {
		y := values[name]
		if modes[name] == OneHotMode {
			n := depth(made[name])
			if n < 1 {
				return nil, nil, fmt.Errorf("feature %q has the output mode %q, but it is not known how many categories its layer %s makes; use %q", name, OneHotMode, layers.ClassName(made[name]), IntMode)
			}
			if fresh {
				parts = append(parts, &layers.CategoryEncoding{NumTokens: n})
			} else {
				s.encoders[i].(*layers.CategoryEncoding).NumTokens = n
				parts = append(parts, s.encoders[i])
			}
			y = layers.Apply(parts[i], y)
		} else {
			parts = append(parts, nil)
		}
		if e := y.Err(); e != nil {
			return nil, nil, fmt.Errorf("feature %q: %w", name, e)
		}
		if !s.dict && modes[name] == FloatMode && counts(made[name]) {
			y = layers.Op("cast", y, "float32")
		}
		if !s.dict && !y.DType().IsFloat() {
			return nil, nil, fmt.Errorf("feature %q gives whole numbers, which cannot be joined to a row of floats; use the output mode %q, or AsDict", name, OneHotMode)
		}
		encoded = append(encoded, y)
	}
	s.encoders = parts
	if s.dict || len(encoded) == 1 {
		return inputs, encoded, nil
	}
	row := layers.Apply(&layers.Concatenate{}, encoded...)
	return inputs, []*layers.KerasTensor{row}, row.Err()
}

// ready creates the model that encodes.
func (s *Space) ready() (*keras.Model, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.model != nil {
		return s.model, nil
	}
	for _, name := range s.names {
		if unlearned(s.pre[name]) {
			return nil, fmt.Errorf("column %q has not been learned yet; call Adapt", name)
		}
	}
	inputs, encoded, err := s.graph()
	if err != nil {
		return nil, err
	}
	in := map[string]*layers.KerasTensor{}
	for i, name := range s.names {
		in[name] = inputs[i]
	}
	s.resultsOf = nil
	outputs := keras.Outputs(encoded...)
	if s.dict {
		s.resultsOf = s.ResultNames()
	}
	s.model, err = keras.NewFunctional(keras.Dict(in), outputs)
	return s.model, err
}

// Encode encodes the columns x of a table, a map of columns or [data.Tensors]. It returns one array (rows, width), or
// with AsDict one for each of ResultNames, by name.
func (s *Space) Encode(ctx context.Context, x any) (data.Tensors, error) {
	m, err := s.ready()
	if err != nil {
		return data.Tensors{}, fmt.Errorf("features: Encode: %w", err)
	}
	source := data.Arrays(x, nil)
	if source.Err() == nil { // a table may have further columns
		b := source.All()
		wanted := map[string]data.Array{}
		for _, name := range s.names {
			c := b.X.Get(name)
			if c.IsZero() {
				return data.Tensors{}, fmt.Errorf("features: Encode: the data have no column %q, they have %v", name, b.X.Names)
			}
			wanted[name] = c
		}
		source = data.Arrays(data.Dict(wanted), nil)
	}
	out, err := m.PredictAll(ctx, source)
	if err != nil {
		return data.Tensors{}, fmt.Errorf("features: Encode: %w", err)
	}
	return data.Tensors{Names: slices.Clone(s.resultsOf), Arrays: out}, nil
}

// Map encodes the inputs of a dataset as it streams; targets and weights are unchanged. Columns in memory are yielded
// in batches of 32.
func (s *Space) Map(ds data.Dataset) data.Dataset { return &mapped{s, ds} }

type mapped struct {
	space *Space
	from  data.Dataset
}

// Batches yields the encoded batches.
func (m *mapped) Batches(ctx context.Context, epoch int) iter.Seq2[data.Batch, error] {
	return func(yield func(data.Batch, error) bool) {
		for b, err := range rows(ctx, m.from, epoch) {
			if err == nil {
				b.X, err = m.space.Encode(ctx, b.X)
			}
			if err != nil {
				yield(data.Batch{}, err)
				return
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}
