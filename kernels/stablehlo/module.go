package stablehlo

import (
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Options say how a module will be run.
type Options struct {
	// Replicas is the number of replicas that run the module together; 0 means 1. Collectives of the program must span
	// the same number.
	Replicas int
	// Platform is that of the compiler, as plugins call it: "cpu", "cuda", "tpu". Some ops are written differently for
	// a platform where the usual text is slow or wrong; "" is a compiler that follows StableHLO's specification.
	Platform string
	// Number identifies the module in the failure flag.
	Number int32
	// Donate marks inputs that outputs replace, so that their memory holds the new values. Without it a run leaves all
	// inputs as they are.
	Donate bool
	// Partitions is the number of devices that a compiler spreads each replica over; 0 means 1. The program itself
	// remains a program for one device.
	Partitions int
	// Shardings says for each input how it is divided over them, in GSPMD's notation ("{devices=[2,1]0,1}"), or, if
	// Mesh is set, in Shardy's ("[{\"model\"}, {}]"). An output that replaces an input has the layout of that input;
	// others are whole on every device.
	Shardings []string
	// Mesh names the axes of the devices for Shardy, with their lengths: `["batch"=2, "model"=2]`. "" selects GSPMD.
	Mesh string
	// Layout writes the sharding of a value within a program with Shardings, in the same notation. An error is a
	// mistake in the program.
	Layout func(a ir.LayoutAttrs, t ir.Type) (string, error)
}

// Module is a program in StableHLO.
type Module struct {
	Text string
	// Checks are the points at which the program can set the failure flag.
	Checks []Check

	number int32
}

// FlagType is the type of the failure flag.
var FlagType = ir.Type{DType: ir.Int32, Shape: ir.Shape{3}}

// Check is one point at which a program checks indices, or whether numbers are finite.
type Check struct {
	Scope  string // path of the layer
	Op     ir.Op
	Axis   int // axis that the indices select from
	Length int // of the axis

	finite ir.CheckFiniteAttrs // of a CheckFinite, whose indices are the elements' own
	shape  ir.Shape            // of its operand
}

// Error describes the failure of the check for the given index.
func (c Check) Error(index int32) error {
	if c.Op == ir.CheckFinite {
		return c.finite.Failure(c.Scope, c.shape, int(index))
	}
	return fmt.Errorf("%s: %v: index %d is outside axis %d of length %d; valid indices are 0 to %d", c.Scope, c.Op, index, c.Axis, c.Length, c.Length-1)
}

// Failure interprets a failure flag. It is nil if no check failed, or if the check belongs to another module.
func (m *Module) Failure(flag [3]int32) error {
	if flag[0] != m.number || flag[1] <= 0 || int(flag[1]) > len(m.Checks) {
		return nil
	}
	return m.Checks[flag[1]-1].Error(flag[2])
}

// lowerError is what emitters panic with; Lower returns it.
type lowerError struct{ error }

// Lower writes a program as StableHLO. It returns an error that names the op and the layer if a program does not
// verify, or has collectives over another number of replicas than in the options.
func Lower(p *ir.Program, o Options) (m *Module, err error) {
	if err := p.Verify(); err != nil {
		return nil, err
	}
	p, err = ir.Expand(p, func(_ *ir.Program, n *ir.Node) bool { return o.lowers(n) })
	if err != nil {
		return nil, err
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case lowerError:
			m, err = nil, r.error
		default:
			panic(r)
		}
	}()
	e := &emitter{replicas: max(o.Replicas, 1), partitions: max(o.Partitions, 1), number: o.Number, locations: map[string]int{}, functions: map[string]string{}, text: &strings.Builder{}}
	e.main(p, o)
	return &Module{Text: e.module(p.Name, max(o.Partitions, 1), o.Mesh), Checks: e.checks, number: o.Number}, nil
}

// lowers reports whether a node has a lowering of its own; others are decomposed.
func (o *Options) lowers(n *ir.Node) bool {
	if n.Op == ir.MaxPoolGrad {
		return scatters(o.Platform, n.Attrs.(ir.PoolAttrs))
	}
	return lowerings[n.Op] != nil
}

// module puts the functions together.
func (e *emitter) module(name string, partitions int, mesh string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "module @%s attributes {mhlo.num_replicas = %d : i32, mhlo.num_partitions = %d : i32} {\n", symbol(name), e.replicas, partitions)
	if mesh != "" {
		fmt.Fprintf(&out, "  sdy.mesh @mesh = <%s>\n", mesh)
	}
	out.WriteString(e.text.String())
	for _, name := range e.functionOrder {
		out.WriteString(e.functions[name])
	}
	out.WriteString("}\n")
	for i, scope := range e.scopes {
		fmt.Fprintf(&out, "#loc%d = loc(%s)\n", i, quoted(scope))
	}
	return out.String()
}

// symbol makes a name that MLIR takes after an at sign.
func symbol(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, name)
	if clean == "" || clean[0] >= '0' && clean[0] <= '9' {
		clean = "_" + clean
	}
	return clean
}

// quoted writes a string as MLIR does: bytes other than printable ASCII as two hexadecimal digits.
func quoted(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			fmt.Fprintf(&out, "\\%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// main writes the function that holds the program.
func (e *emitter) main(p *ir.Program, o Options) {
	arguments := make([]value, len(p.Inputs))
	declared := make([]string, len(p.Inputs))
	replacedBy := map[int]int{}
	for i, out := range p.Outputs {
		if out.Alias >= 0 {
			replacedBy[out.Alias] = i
		}
	}
	for i, in := range p.Inputs {
		arguments[i] = value{fmt.Sprintf("%%arg%d", i), p.Type(in.Value)}
		declared[i] = arguments[i].name + ": " + tensor(arguments[i].typ)
		var attributes []string
		if o.Shardings != nil {
			attributes = append(attributes, o.sharding(o.Shardings[i]))
		}
		if output, ok := replacedBy[i]; ok && o.Donate {
			attributes = append(attributes, fmt.Sprintf("tf.aliasing_output = %d : i32", output))
		}
		declared[i] += within(attributes)
	}
	flag := value{fmt.Sprintf("%%arg%d", len(arguments)), FlagType}
	declared = append(declared, flag.name+": "+tensor(flag.typ))
	if o.Shardings != nil {
		declared[len(arguments)] += within([]string{o.whole(flag.typ)})
	}
	body := &emitter{replicas: e.replicas, partitions: e.partitions, number: e.number, locations: e.locations, functions: e.functions, text: &strings.Builder{}, indent: 2, flag: flag, options: &o}
	results := append(body.guarded(p, arguments), body.flag)
	types := typesOf(results)
	body.linef("return %s : %s", names(results), tensors(types))
	returned := make([]string, len(types))
	for i, t := range types {
		returned[i] = tensor(t)
		switch {
		case o.Shardings == nil:
		case i < len(p.Outputs) && p.Outputs[i].Alias >= 0:
			returned[i] += within([]string{o.sharding(o.Shardings[p.Outputs[i].Alias])})
		default:
			returned[i] += within([]string{o.whole(results[i].typ)})
		}
	}
	fmt.Fprintf(e.text, "  func.func public @main(%s) -> (%s) {\n%s  }\n", strings.Join(declared, ", "), strings.Join(returned, ", "), body.text)
	e.checks, e.scopes, e.functionOrder = body.checks, body.scopes, body.functionOrder
}

// sharding is the attribute of an argument or a result that is divided.
func (o *Options) sharding(text string) string {
	if o.Mesh != "" {
		return "sdy.sharding = #sdy.sharding<@mesh, " + text + ">"
	}
	return "mhlo.sharding = " + quoted(text)
}

// whole is the attribute of a value that is whole on every device of a mesh.
func (o *Options) whole(t ir.Type) string {
	if o.Mesh != "" {
		return o.sharding("[" + strings.TrimSuffix(strings.Repeat("{}, ", len(t.Shape)), ", ") + "]")
	}
	return o.sharding("{replicated}")
}

// within writes the attributes of an argument or result, or nothing if there are none.
func within(attributes []string) string {
	if len(attributes) == 0 {
		return ""
	}
	return " {" + strings.Join(attributes, ", ") + "}"
}
