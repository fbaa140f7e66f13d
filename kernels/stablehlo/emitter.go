package stablehlo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

// value is a result in the text.
type value struct {
	name string
	typ  ir.Type
}

func (v value) shape() ir.Shape { return v.typ.Shape }
func (v value) dtype() ir.DType { return v.typ.DType }

// emitter writes the operations of one function.
type emitter struct {
	text       *strings.Builder
	indent     int
	next       int // number of the next value
	replicas   int
	partitions int
	number     int32 // of the module
	options    *Options
	scope      string
	checks     []Check
	// flag is the failure flag as it stands in the current region.
	flag value
	// looks are the checks of the current region that are not in the flag yet.
	looks []look

	// written are the operations of the current region with one result, by their text, so that none is written twice.
	written map[string]value
	// negated are operands of negations of the current region, by the name of the result.
	negated map[string]value

	locations map[string]int
	scopes    []string
	// functions are the functions other than main, which operations call.
	functions     map[string]string
	functionOrder []string
}

// lowering writes one node.
type lowering func(e *emitter, n *ir.Node, in []value) []value

// lowerings are those of all ops that are not decomposed. The files of this package fill it, one family each.
var lowerings = map[ir.Op]lowering{}

// inline writes the nodes of a program and returns its outputs.
func (e *emitter) inline(p *ir.Program, arguments []value) []value {
	values := inputsOf(p, arguments)
	for i, live := range p.Live() {
		if live {
			e.node(p, &p.Nodes[i], values)
		}
	}
	return outputsOf(p, values)
}

// inputsOf returns a list for all values of a program, filled with those of its inputs.
func inputsOf(p *ir.Program, arguments []value) []value {
	values := make([]value, p.NumValues())
	for i, in := range p.Inputs {
		values[in.Value] = arguments[i]
	}
	return values
}

func outputsOf(p *ir.Program, values []value) []value {
	results := make([]value, len(p.Outputs))
	for i, out := range p.Outputs {
		results[i] = values[out.Value]
	}
	return results
}

// node writes one node.
func (e *emitter) node(p *ir.Program, n *ir.Node, values []value) {
	outer := e.scope
	e.scope = n.Scope
	defer func() { e.scope = outer }()
	in := make([]value, len(n.Inputs))
	for j, v := range n.Inputs {
		in[j] = values[v]
	}
	lower := lowerings[n.Op]
	if lower == nil {
		e.failf("op %v has no lowering to StableHLO", n.Op)
	}
	for j, v := range lower(e, n, in) {
		if want := p.Type(n.Outputs[j]); !v.typ.Equal(want) {
			e.failf("op %v: its lowering gives %v, its rule %v", n.Op, v.typ, want)
		}
		values[n.Outputs[j]] = v
	}
}

// failf ends the lowering with an error that names the layer.
func (e *emitter) failf(format string, arguments ...any) {
	panic(lowerError{fmt.Errorf("stablehlo: %s: %s", e.scope, fmt.Sprintf(format, arguments...))})
}

// linef writes one line of text.
func (e *emitter) linef(format string, arguments ...any) {
	for range e.indent {
		e.text.WriteString("  ")
	}
	fmt.Fprintf(e.text, format, arguments...)
	e.text.WriteByte('\n')
}

// location is the reference to the current scope after an operation, or nothing if there is none.
func (e *emitter) location() string {
	if e.scope == "" {
		return ""
	}
	number, known := e.locations[e.scope]
	if !known {
		number = len(e.scopes)
		e.locations[e.scope] = number
		e.scopes = append(e.scopes, e.scope)
	}
	return fmt.Sprintf(" loc(#loc%d)", number)
}

// definef writes an operation with one result, unless it has already been written in this region.
func (e *emitter) definef(t ir.Type, format string, arguments ...any) value {
	text := fmt.Sprintf(format, arguments...)
	if v, ok := e.written[text]; ok {
		return v
	}
	v := value{e.fresh(), t}
	e.linef("%s = %s%s", v.name, text, e.location())
	if len(text) <= longText {
		if e.written == nil {
			e.written = map[string]value{}
		}
		e.written[text] = v
	}
	return v
}

// longText is the length from which on an operation is not compared with those already written, such as a constant of
// many elements.
const longText = 1000

// defineAllf writes an operation with any number of results.
func (e *emitter) defineAllf(types []ir.Type, format string, arguments ...any) []value {
	if len(types) == 1 {
		return []value{e.definef(types[0], format, arguments...)}
	}
	name := e.fresh()
	e.linef("%s:%d = %s%s", name, len(types), fmt.Sprintf(format, arguments...), e.location())
	results := make([]value, len(types))
	for i, t := range types {
		results[i] = value{fmt.Sprintf("%s#%d", name, i), t}
	}
	return results
}

func (e *emitter) fresh() string {
	e.next++
	return "%v" + strconv.Itoa(e.next-1)
}

// region writes the body of a region with the given arguments: "({ ^bb0(...): ... stablehlo.return ... })" without its
// parentheses.
func (e *emitter) region(types []ir.Type, body func(arguments []value) []value) string {
	outer, indent, looks, written, negated := e.text, e.indent, e.looks, e.written, e.negated
	e.text, e.indent, e.looks, e.written, e.negated = &strings.Builder{}, indent+1, nil, nil, nil
	arguments, declared := make([]value, len(types)), make([]string, len(types))
	for i, t := range types {
		arguments[i] = value{e.fresh(), t}
		declared[i] = arguments[i].name + ": " + tensor(t)
	}
	results := body(arguments)
	e.linef("stablehlo.return %s : %s", names(results), tensors(typesOf(results)))
	inner := e.text.String()
	e.text, e.indent, e.looks, e.written, e.negated = outer, indent, looks, written, negated
	head := "{\n"
	if len(types) > 0 {
		head = fmt.Sprintf("{\n%s^bb0(%s):\n", strings.Repeat("  ", indent), strings.Join(declared, ", "))
	}
	return head + inner + strings.Repeat("  ", indent) + "}"
}

// generalf writes an operation in MLIR's general form: its name, properties, regions, and the types of operands and
// results.
func (e *emitter) general(name string, operands []value, properties, regions string, types []ir.Type) []value {
	if properties != "" {
		properties = " <{" + properties + "}>"
	}
	if regions != "" {
		regions = " (" + regions + ")"
	}
	return e.defineAllf(types, "\"stablehlo.%s\"(%s)%s%s : (%s) -> (%s)", name, names(operands), properties, regions, tensors(typesOf(operands)), tensors(types))
}

// tensor writes a type as tensor<2x3xf32>.
func tensor(t ir.Type) string {
	var out strings.Builder
	out.WriteString("tensor<")
	for _, d := range t.Shape {
		out.WriteString(strconv.Itoa(d))
		out.WriteByte('x')
	}
	out.WriteString(t.DType.StableHLO())
	out.WriteByte('>')
	return out.String()
}

func tensors(types []ir.Type) string {
	all := make([]string, len(types))
	for i, t := range types {
		all[i] = tensor(t)
	}
	return strings.Join(all, ", ")
}

func names(values []value) string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = v.name
	}
	return strings.Join(all, ", ")
}

func typesOf(values []value) []ir.Type {
	types := make([]ir.Type, len(values))
	for i, v := range values {
		types[i] = v.typ
	}
	return types
}

// list writes [1, 2, 3].
func list(numbers []int) string {
	all := make([]string, len(numbers))
	for i, n := range numbers {
		all[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// array writes a list as the attribute array<i64: 1, 2, 3>.
func array(numbers []int) string {
	if len(numbers) == 0 {
		return "array<i64>"
	}
	return "array<i64: " + strings.Trim(list(numbers), "[]") + ">"
}

// pairs writes two lists of a length as a dense attribute of pairs.
func pairs(low, high []int) string {
	if len(low) == 0 {
		return "dense<> : tensor<0x2xi64>"
	}
	all := make([]string, len(low))
	for i := range low {
		all[i] = list([]int{low[i], high[i]})
	}
	return fmt.Sprintf("dense<[%s]> : tensor<%dx2xi64>", strings.Join(all, ", "), len(low))
}
