package ir

import (
	"fmt"
	"reflect"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Specialize returns the program for known sizes: every length that is an expression becomes a number.
func Specialize(p *Program, sizes map[string]int) (*Program, error) {
	s := specializer{sizes: sizes}
	out, err := s.program(p)
	if err == nil {
		err = s.err
	}
	if err != nil {
		return nil, fmt.Errorf("ir: program %q for the sizes %v: %w", p.Name, sizes, err)
	}
	return out, nil
}

type specializer struct {
	sizes map[string]int
	err   error // the first one that a length met
}

func (s *specializer) program(p *Program) (*Program, error) {
	out := New(p.Name)
	mapped := make(map[Value]Value, p.NumValues())
	for _, in := range p.Inputs {
		mapped[in.Value] = out.AddInput(in.Name, s.typ(p.Type(in.Value)))
	}
	for _, n := range p.Nodes {
		if n.Attrs != nil {
			attrs := reflect.New(reflect.TypeOf(n.Attrs)).Elem()
			attrs.Set(reflect.ValueOf(n.Attrs))
			s.value(attrs)
			n.Attrs = attrs.Interface().(Attrs)
		}
		if s.err != nil {
			return nil, fmt.Errorf("layer %q: %v: %w", n.Scope, n.Op, s.err)
		}
		if err := out.copyNode(&n, mapped); err != nil {
			return nil, fmt.Errorf("layer %q: %w", n.Scope, err)
		}
	}
	for _, o := range p.Outputs {
		out.Outputs = append(out.Outputs, Output{o.Name, mapped[o.Value], o.Alias})
	}
	return out, s.err
}

func (s *specializer) typ(t Type) Type {
	t.Shape = t.Shape.Clone()
	for i := range t.Shape {
		t.Shape[i] = s.length(t.Shape[i])
	}
	return t
}

func (s *specializer) length(d int) int {
	if dim.Known(d) {
		return d
	}
	n, err := dim.Eval(d, s.sizes)
	if err != nil && s.err == nil {
		s.err = err
	}
	return n
}

// value replaces the lengths inside attributes. These are plain structs of numbers, texts, lists and programs. Lists
// are copied, because programs share them.
func (s *specializer) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Int:
		v.SetInt(int64(s.length(int(v.Int())))) //dim:known that is what length makes
	case reflect.Struct:
		for i := range v.NumField() {
			s.value(v.Field(i))
		}
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() != reflect.Int {
			return
		}
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		for i := range list.Len() {
			s.value(list.Index(i))
		}
		v.Set(list)
	case reflect.Pointer:
		sub, ok := v.Interface().(*Program)
		if !ok || sub == nil {
			return
		}
		out, err := s.program(sub)
		if err != nil {
			if s.err == nil {
				s.err = err
			}
			return
		}
		v.Set(reflect.ValueOf(out))
	}
}
