package layers

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/tables"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/initializers"
)

// dynamic is the table of an Embedding whose keys are not known beforehand.
type dynamic struct {
	mu     sync.Mutex
	table  *tables.Table
	text   bool         // keys are strings
	stored func() error // takes over what a file has; nil: nothing waits
}

// dynamicEmbedding presents a dynamic Embedding to a model as a layer that works on the host.
type dynamicEmbedding struct{ *Embedding }

var errDynamicCall = errors.New("a dynamic embedding looks its rows up before the program runs, so it is called in Functional and Sequential models only, on an input of the model or on what " +
	"other layers make of one on the host (StringLookup, Hashing, ...); in a loop of your own, look rows up with Table().Lookup, hand them to the program, and its gradients to Table().Gradient")

// checkDynamic reports settings that a dynamic embedding does not support.
func (l *Embedding) checkDynamic() error {
	var wrong []string
	for name, set := range map[string]bool{
		"InputDim": l.InputDim != 0, "EmbeddingsRegularizer": l.EmbeddingsRegularizer != nil, "ActivityRegularizer": l.ActivityRegularizer != nil,
		"EmbeddingsConstraint": l.EmbeddingsConstraint != nil, "LoraRank": l.LoraRank != 0, "QuantizationConfig": l.QuantizationConfig != nil,
	} {
		if set {
			wrong = append(wrong, name)
		}
	}
	slices.Sort(wrong)
	switch {
	case l.OutputDim <= 0:
		return fmt.Errorf("OutputDim must be positive, received %d", l.OutputDim)
	case len(wrong) > 0:
		return fmt.Errorf("a dynamic embedding has rows for the keys that it meets, one by one, and no %v; leave it out, or train a plain Embedding", wrong)
	case l.MaxRows < 0 || l.MaxAge < 0 || l.MemoryBytes < 0:
		return fmt.Errorf("MaxRows %d, MaxAge %d and MemoryBytes %d must not be negative", l.MaxRows, l.MaxAge, l.MemoryBytes)
	}
	_, err := tables.ParsePolicy(l.Eviction)
	return err
}

// HostType implements [HostLayer].
func (l dynamicEmbedding) HostType(inputs ...ir.Type) (ir.Type, error) {
	if err := l.checkDynamic(); err != nil {
		return ir.Type{}, err
	}
	if len(inputs) != 1 || inputs[0].DType != ir.Invalid && !inputs[0].DType.IsInteger() {
		return ir.Type{}, fmt.Errorf("takes one input of whole numbers or strings, received %v; give the input the DType \"int64\" or \"string\"", inputs)
	}
	if text := inputs[0].DType == ir.Invalid; l.built && text != l.dynamic.text {
		return ir.Type{}, errors.New("its keys are strings in one call and numbers in another; use two layers")
	} else {
		l.dynamic.text = text
	}
	return ir.Type{DType: ir.Float32, Shape: append(inputs[0].Shape.Clone(), l.OutputDim)}, nil
}

// Transform implements [HostLayer]: it looks the rows up.
func (l dynamicEmbedding) Transform(inputs ...HostArray) (HostArray, error) {
	x, err := single(inputs)
	if err != nil {
		return HostArray{}, fmt.Errorf("layers: %s: %w", Name(l.Embedding), err)
	}
	k, err := l.Keys(x)
	if err != nil {
		return HostArray{}, err
	}
	table := l.Table()
	if table == nil {
		return HostArray{}, fmt.Errorf("layers: %s: it has no table yet; make a model with it first", Name(l.Embedding))
	}
	rows, err := table.Lookup(k.Keys)
	if err != nil {
		return HostArray{}, err
	}
	wide := k.Gather(rows, l.OutputDim)
	out := HostArray{Shape: append(slices.Clone(x.Shape), l.OutputDim), Floats: make([]float64, len(wide))}
	for i, v := range wide {
		out.Floats[i] = float64(v)
	}
	return out, nil
}

// BatchKeys are the keys of a batch: each once, in increasing order.
type BatchKeys struct {
	Keys   []int64
	Names  []string // of text keys; nil otherwise
	Places []int32  // for each element of the batch, which of Keys it is
	Mask   []bool   // for each element, whether it is no padding; nil without MaskZero
	Shape  []int    // of the batch
}

// Gather returns a row for each element of the batch, given one row for each key.
func (k *BatchKeys) Gather(rows []float32, width int) []float32 {
	out := make([]float32, 0, len(k.Places)*width)
	for _, p := range k.Places {
		out = append(out, rows[int(p)*width:(int(p)+1)*width]...)
	}
	return out
}

// Keys returns the keys of an array of integers or strings.
func (l *Embedding) Keys(x HostArray) (BatchKeys, error) {
	k := BatchKeys{Shape: x.Shape}
	ids := x.Ints
	switch {
	case x.Strings != nil:
		seed, _, err := l.start(0)
		if err != nil {
			return k, err
		}
		if t := l.Table(); t != nil {
			seed = t.Spec().Init
		}
		ids = make([]int64, len(x.Strings))
		for i, s := range x.Strings {
			ids[i] = parameters.TextKey(seed.Seed, s)
		}
	case x.Floats != nil:
		ids = make([]int64, len(x.Floats))
		for i, v := range x.Floats {
			if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
				return k, fmt.Errorf("layers: %s: the key %v is no whole number", Name(l), v)
			}
			ids[i] = int64(v)
		}
	}
	k.Keys, k.Places = parameters.Distinct(ids)
	if x.Strings != nil {
		k.Names = make([]string, len(k.Keys))
		for i, p := range k.Places {
			switch k.Names[p] {
			case "":
				k.Names[p] = x.Strings[i]
			case x.Strings[i]:
			default:
				return k, fmt.Errorf("layers: %s: the keys %.100q and %.100q fall on the same number; give the initializer another seed", Name(l), k.Names[p], x.Strings[i])
			}
		}
	}
	if l.MaskZero {
		k.Mask = make([]bool, len(ids))
		for i, id := range ids {
			k.Mask[i] = id != 0
		}
	}
	return k, nil
}

// IsDynamic reports whether a layer is an Embedding with Dynamic set, and returns it.
func IsDynamic(l Layer) (*Embedding, bool) {
	e, ok := l.(*Embedding)
	return e, ok && e.Dynamic
}

// start returns the initial values of rows for a model with this seed.
func (l *Embedding) start(seed uint64) (parameters.Init, bool, error) {
	h := uint64(14695981039346656037) ^ seed
	for _, c := range []byte(l.Path()) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	out := parameters.Init{Seed: h}
	value := func(v *float64, or float64) float64 {
		if v != nil {
			return *v
		}
		return or
	}
	own := func(s *int) {
		if s != nil {
			out.Seed = uint64(*s)
		}
	}
	initializer, err := initializers.Get(orDefault(l.EmbeddingsInitializer, "uniform"))
	if err != nil {
		return out, false, err
	}
	switch i := initializer.(type) {
	case initializers.Zeros, *initializers.Zeros:
	case initializers.Ones, *initializers.Ones:
		out.A = 1
	case initializers.Constant:
		out.A = i.Value
	case *initializers.Constant:
		out.A = i.Value
	case initializers.RandomUniform:
		out.Kind, out.A, out.B = parameters.Uniform, value(i.MinVal, -0.05), value(i.MaxVal, 0.05)
		own(i.Seed)
	case *initializers.RandomUniform:
		out.Kind, out.A, out.B = parameters.Uniform, value(i.MinVal, -0.05), value(i.MaxVal, 0.05)
		own(i.Seed)
	case initializers.RandomNormal:
		out.Kind, out.A, out.B = parameters.Normal, i.Mean, value(i.Stddev, 0.05)
		own(i.Seed)
	case *initializers.RandomNormal:
		out.Kind, out.A, out.B = parameters.Normal, i.Mean, value(i.Stddev, 0.05)
		own(i.Seed)
	case initializers.TruncatedNormal:
		out.Kind, out.A, out.B = parameters.TruncatedNormal, i.Mean, value(i.Stddev, 0.05)
		own(i.Seed)
	case *initializers.TruncatedNormal:
		out.Kind, out.A, out.B = parameters.TruncatedNormal, i.Mean, value(i.Stddev, 0.05)
		own(i.Seed)
	default:
		return out, false, fmt.Errorf("layers: %s: the initializer %T needs to know how many rows there are, which a dynamic embedding does not; use RandomUniform, RandomNormal, TruncatedNormal, Constant, Zeros or Ones", Name(l), initializer)
	}
	return out, true, nil
}

// OpenTables makes the tables of all dynamic embeddings in l that have none, for a model with this seed.
func OpenTables(l Layer, seed uint64) error {
	if IsNil(l) {
		return errNilLayer
	}
	var failed error
	Walk(l, func(l Layer) {
		e, ok := IsDynamic(l)
		if !ok || failed != nil {
			return
		}
		failed = e.openTable(seed)
	})
	return failed
}

func (l *Embedding) openTable(seed uint64) error {
	l.dynamic.mu.Lock()
	defer l.dynamic.mu.Unlock()
	if l.dynamic.table != nil {
		return nil
	}
	if err := l.checkDynamic(); err != nil {
		return fmt.Errorf("layers: %s: %w", Name(l), err)
	}
	init, _, err := l.start(seed)
	if err != nil {
		return err
	}
	policy, err := tables.ParsePolicy(l.Eviction)
	if err != nil {
		return err
	}
	if l.dynamic.table, err = tables.New(tables.Spec{Name: l.Path() + "/embeddings", Width: l.OutputDim, Init: init, Text: l.dynamic.text, MaxRows: l.MaxRows, MaxAge: l.MaxAge, Policy: policy, MemoryBytes: l.MemoryBytes}); err == nil && l.dynamic.stored != nil {
		err = l.dynamic.stored()
	}
	l.dynamic.stored = nil
	return err
}

// Table returns the rows of a dynamic embedding; nil before a model was created with it, and for other embeddings.
func (l *Embedding) Table() *tables.Table {
	l.dynamic.mu.Lock()
	defer l.dynamic.mu.Unlock()
	return l.dynamic.table
}

// PlainTable is a dynamic embedding with a fixed vocabulary: its keys at that time, in increasing order (texts in
// alphabetical order).
type PlainTable struct {
	// Lookup maps keys to indices: an [IntegerLookup], or a [StringLookup] for text keys. Unknown keys have index 0, or
	// 1 with MaskZero.
	Lookup Layer
	// Embedding takes the indices. It is built and holds the rows. The row of unknown keys is the mean of all rows.
	Embedding *Embedding
	Keys      []int64  // in the order of their indices; nil for text keys
	Texts     []string // the same for text keys
	First     int      // index of the first key
}

// Plain returns the current state of a dynamic embedding as a plain one, with the lookup layer to put before it: a
// model that Keras and other tools can read, and that runs completely on any device. All rows must fit in memory.
func (l *Embedding) Plain() (*PlainTable, error) {
	table := l.Table()
	if table == nil {
		return nil, fmt.Errorf("layers: %s has no rows to export: it is not dynamic, or no model was made with it", Name(l))
	}
	rows, err := table.Rows()
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r parameters.Row) bool { return l.MaskZero && r.Key == 0 || l.dynamic.text && r.Name == "" })
	p := &PlainTable{First: 1}
	if l.MaskZero {
		p.First = 2
	}
	if l.dynamic.text {
		sort.Slice(rows, func(i, j int) bool { return rows[i].Name < rows[j].Name })
	}
	width := l.OutputDim
	values := make([]float64, (p.First+len(rows))*width)
	for i, r := range rows {
		if l.dynamic.text {
			p.Texts = append(p.Texts, r.Name)
		} else {
			p.Keys = append(p.Keys, r.Key)
		}
		for j, v := range r.Values {
			values[(p.First+i)*width+j] = float64(v)
			values[(p.First-1)*width+j] += float64(v) / float64(len(rows))
		}
	}
	p.Lookup = l.plainLookup(p)
	p.Embedding = &Embedding{Name: l.Name, DType: l.DType, Frozen: l.Frozen, InputDim: p.First + len(rows), OutputDim: width, MaskZero: l.MaskZero, EmbeddingsInitializer: l.EmbeddingsInitializer}
	if _, err := InferTypes(p.Embedding, []ir.Type{{DType: ir.Int64, Shape: ir.Shape{Unknown}}}); err != nil {
		return nil, err
	}
	v := p.Embedding.embeddings
	a, err := kernels.FromFloat64s(v.Type().DType, v.Type().Shape, values)
	if err == nil {
		err = v.SetValue(a)
	}
	return p, err
}

func (l *Embedding) plainLookup(p *PlainTable) Layer {
	if l.dynamic.text {
		out := &StringLookup{Vocabulary: p.Texts}
		if l.MaskZero {
			none := ""
			out.MaskToken = &none
		}
		return out
	}
	vocabulary := make([]int, len(p.Keys))
	for i, key := range p.Keys {
		vocabulary[i] = int(key)
	}
	oov := math.MinInt // not among the keys, as -1 may be
	out := &IntegerLookup{Vocabulary: vocabulary, OOVToken: &oov}
	if l.MaskZero {
		none := 0
		out.MaskToken = &none
	}
	return out
}
