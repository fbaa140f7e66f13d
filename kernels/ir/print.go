package ir

import (
	"fmt"
	"io"
	"reflect"
	"strings"
)

// String prints the program, one node a line:
//
//	program step(%0 x float32[8 3], %1 w float32[3 2]) {
//	  %2 = dot(%0, %1) {lhs_contract=[1] rhs_contract=[0]} float32[8 2] // dense
//	} -> (%2 y)
func (p *Program) String() string {
	var b strings.Builder
	p.print(&b, "", true)
	return b.String()
}

func (p *Program) print(w io.Writer, indent string, names bool) {
	if p == nil {
		fmt.Fprintln(w, "program missing")
		return
	}
	name := func(s string) string {
		if names && s != "" {
			return " " + s
		}
		return ""
	}
	fmt.Fprintf(w, "program%s(", name(p.Name))
	for i, in := range p.Inputs {
		fmt.Fprintf(w, "%s%%%d%s %v", comma(i), in.Value, name(in.Name), p.types[in.Value])
	}
	fmt.Fprintf(w, ") {\n")
	for i := range p.Nodes {
		p.printNode(w, &p.Nodes[i], indent+"  ", names)
	}
	fmt.Fprintf(w, "%s} -> (", indent)
	for i, out := range p.Outputs {
		fmt.Fprintf(w, "%s%%%d%s", comma(i), out.Value, name(out.Name))
		if out.Alias >= 0 {
			fmt.Fprintf(w, " replaces %%%d", p.Inputs[out.Alias].Value)
		}
	}
	fmt.Fprintf(w, ")\n")
}

func (p *Program) printNode(w io.Writer, n *Node, indent string, names bool) {
	fmt.Fprint(w, indent)
	for i, v := range n.Outputs {
		fmt.Fprintf(w, "%s%%%d", comma(i), v)
	}
	fmt.Fprintf(w, " = %v(", n.Op)
	for i, v := range n.Inputs {
		fmt.Fprintf(w, "%s%%%d", comma(i), v)
	}
	fmt.Fprint(w, ")")
	if text := AttrString(n.Attrs); text != "" {
		fmt.Fprintf(w, " {%s}", text)
	}
	for _, v := range n.Outputs {
		fmt.Fprintf(w, " %v", p.types[v])
	}
	if names && n.Scope != "" {
		fmt.Fprintf(w, " // %s", n.Scope)
	}
	fmt.Fprintln(w)
	for _, sub := range SubPrograms(n.Attrs) {
		fmt.Fprint(w, indent+"  ")
		sub.print(w, indent+"  ", names)
	}
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

var programType = reflect.TypeFor[*Program]()

// AttrString prints attributes as "axis=1 kind=sum"; sub-programs are left out. Equal attributes print equally and
// different ones differently.
func AttrString(attrs Attrs) string {
	if attrs == nil {
		return ""
	}
	if c, ok := attrs.(ConstantAttrs); ok {
		return c.Literal.String()
	}
	var parts []string
	v := reflect.ValueOf(attrs)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Type == programType {
			continue
		}
		if d, ok := v.Field(i).Interface().(DType); ok && d == Invalid { // it follows from the operands
			continue
		}
		if (f.Name == "Groups" || f.Name == "Kth") && f.Type.Kind() == reflect.Slice && v.Field(i).Len() == 0 { // all replicas, all places
			continue
		}
		parts = append(parts, snake(f.Name)+"="+attrValue(v.Field(i)))
	}
	return strings.Join(parts, " ")
}

func attrValue(v reflect.Value) string {
	if nested, ok := v.Interface().(Attrs); ok {
		return "{" + AttrString(nested) + "}"
	}
	if v.Kind() == reflect.Float64 || v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Float64 {
		return fmt.Sprintf("%g", v.Interface())
	}
	return fmt.Sprint(v.Interface())
}

// snake turns PadLow into pad_low and DType into dtype.
func snake(name string) string {
	var b strings.Builder
	upper := func(i int) bool { return name[i] >= 'A' && name[i] <= 'Z' }
	for i := range len(name) {
		if i > 0 && upper(i) && !upper(i-1) {
			b.WriteByte('_')
		}
		b.WriteByte(name[i])
	}
	return strings.ToLower(b.String())
}
