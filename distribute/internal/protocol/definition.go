package protocol

import (
	"fmt"
	"math"
)

// Definition describes a table: a variable, a shard of one, or a table that grows with its keys.
type Definition struct {
	Name     string
	Variable string // that this is a shard of
	Shape    string // of the variable: its lengths with commas between
	First    int    // row of the variable that is row 0 here

	Rows  int // of a dynamic table: 0
	Width int // numbers in a row
	Rule  Rule
	// Constraint follows each update from gradients; a dynamic table has none.
	Constraint Constraint
	Init       Init // of dynamic tables, and of others until they are assigned

	Dynamic bool
	MaxRows int    // of a dynamic table; 0: no bound
	MaxAge  uint64 // of a dynamic table: rows not updated during the last MaxAge updates of the table are evicted; 0: no bound
	Policy  Policy // of a dynamic table with MaxRows: which rows go first
	Text    bool   // of a dynamic table: keys stand for texts, which [Naming] tells
}

// Init gives the initial values of rows. They depend on the seed and the row's key alone.
type Init struct {
	Kind InitKind
	A, B float64 // constant: A; uniform: from A to B; normal: mean A, deviation B
	Seed uint64
}

// InitKind names an initializer.
type InitKind uint8

// The initializers.
const (
	Constant InitKind = iota
	Uniform
	Normal
	TruncatedNormal // normal, within two deviations
	initKinds
)

// maxWidth bounds the rows of dynamic tables, which are allocated many at a time.
const maxWidth = 1 << 16

// maxName bounds the names of tables.
const maxName = 1 << 10

// Check returns an error if the definition is invalid.
func (d *Definition) Check() error {
	fail := func(format string, a ...any) error {
		return fmt.Errorf("parameterserver: table %.100q: %s", d.Name, fmt.Sprintf(format, a...))
	}
	switch {
	case d.Name == "" || len(d.Name) > maxName || len(d.Variable) > maxName || len(d.Shape) > maxName:
		return fail("a name needs 1 to %d bytes, this one has %d", maxName, max(len(d.Name), len(d.Variable), len(d.Shape)))
	case d.Rows < 0 || d.Width < 0 || d.MaxRows < 0 || d.Dynamic && (d.Rows != 0 || d.Width == 0):
		return fail("%d rows of %d numbers, at most %d rows; expected no negative numbers, and no rows for a dynamic table", d.Rows, d.Width, d.MaxRows)
	case d.Policy >= policies || d.Text && !d.Dynamic:
		return fail("the policy %v is not known, or it has text keys and is not dynamic", d.Policy)
	case d.Width > maxWidth && d.Dynamic:
		return fail("rows of %d numbers; a dynamic table has at most %d in a row", d.Width, maxWidth)
	case d.Init.Kind >= initKinds || math.IsNaN(d.Init.A) || math.IsNaN(d.Init.B):
		return fail("the initializer is not known")
	}
	if err := d.Rule.Check(); err != nil {
		return fail("%v", err)
	}
	if err := d.Constraint.check(d); err != nil {
		return fail("%v", err)
	}
	if arrays := 1 + len(d.Rule.SlotNames()); d.Width > 0 && d.Rows > math.MaxInt/4/arrays/d.Width { // so that Bytes is a number
		return fail("%d rows of %d numbers are too many", d.Rows, d.Width)
	}
	return nil
}

// Bytes is the memory of the values and the optimizer's state.
func (d *Definition) Bytes() int {
	return 4 * d.Rows * d.Width * (1 + len(d.Rule.SlotNames()))
}

// same reports whether both describe the same table.
func (d *Definition) same(o *Definition) bool {
	a, b := *d, *o
	a.Constraint, b.Constraint = Constraint{}, Constraint{}
	return a == b && d.Constraint.same(o.Constraint)
}

// Encode appends the definition.
func (d *Definition) Encode(w *Writer) {
	w.String(d.Name)
	w.String(d.Variable)
	w.String(d.Shape)
	w.Uint(uint64(d.First))
	w.Uint(uint64(d.Rows))
	w.Uint(uint64(d.Width))
	d.Rule.encode(w)
	d.Constraint.encode(w)
	w.Byte(byte(d.Init.Kind))
	w.Float(d.Init.A)
	w.Float(d.Init.B)
	w.Uint(d.Init.Seed)
	w.Bool(d.Dynamic)
	w.Uint(uint64(d.MaxRows))
	w.Uint(d.MaxAge)
	w.Byte(byte(d.Policy))
	w.Bool(d.Text)
}

// Decode reads what Encode writes.
func (d *Definition) Decode(r *Reader) {
	d.Name, d.Variable, d.Shape, d.First = r.String(), r.String(), r.String(), r.Int()
	d.Rows, d.Width = r.Int(), r.Int()
	d.Rule.decode(r)
	d.Constraint.decode(r)
	d.Init = Init{Kind: InitKind(r.Byte()), A: r.Float(), B: r.Float(), Seed: r.Uint()}
	d.Dynamic, d.MaxRows, d.MaxAge = r.Bool(), r.Int(), r.Uint()
	d.Policy, d.Text = Policy(r.Byte()), r.Bool()
}

// Fill writes the initial values of the row with a key.
func (in *Init) Fill(key int64, row []float32) {
	switch in.Kind {
	case Constant:
		for i := range row {
			row[i] = float32(in.A)
		}
	case Uniform:
		s := stream(in.Seed, key)
		for i := range row {
			row[i] = float32(in.A + (in.B-in.A)*s.unit())
		}
	case Normal:
		s := stream(in.Seed, key)
		for i := 0; i < len(row); i += 2 {
			a, b := s.normals()
			row[i] = float32(in.A + in.B*a)
			if i+1 < len(row) {
				row[i+1] = float32(in.A + in.B*b)
			}
		}
	case TruncatedNormal:
		s := stream(in.Seed, key)
		for i := 0; i < len(row); {
			a, b := s.normals()
			for _, x := range [2]float64{a, b} {
				if i < len(row) && math.Abs(x) <= 2 {
					row[i] = float32(in.A + in.B*x)
					i++
				}
			}
		}
	}
}

// random is a sequence of random numbers (splitmix64).
type random uint64

func stream(seed uint64, key int64) random {
	s := random(seed ^ 0x9E3779B97F4A7C15)
	s ^= random(s.next() ^ uint64(key)*0xBF58476D1CE4E5B9)
	s.next()
	return s
}

func (s *random) next() uint64 {
	*s += 0x9E3779B97F4A7C15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// unit is uniform in [0, 1).
func (s *random) unit() float64 { return float64(s.next()>>11) / (1 << 53) }

// normals are two numbers of the standard normal distribution.
func (s *random) normals() (a, b float64) {
	length := math.Sqrt(-2 * math.Log(1-s.unit()))
	sin, cos := math.Sincos(2 * math.Pi * s.unit())
	return length * cos, length * sin
}
