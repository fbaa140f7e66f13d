package dim

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// String prints a length: 12, batch, 3*batch+1, floor((time-3)/2)+1, max(0,time-2); "?" for a value that is no length.
func String(d int) string {
	if e := find(d); e != nil {
		return e.text
	}
	if !Known(d) {
		return "?"
	}
	return strconv.Itoa(d)
}

// handles are runs of digits as long as those of a handle.
var handles = regexp.MustCompile(`-\d{8,}`)

// Readable replaces the handles in a text: a size becomes None, as Keras prints an open axis, and others become their
// expression.
func Readable(text string) string {
	return handles.ReplaceAllStringFunc(text, func(digits string) string {
		d, err := strconv.Atoi(digits)
		if err != nil || find(d) == nil {
			return digits
		}
		if Name(d) != "" {
			return "None"
		}
		return String(d)
	})
}

// Name returns the name of a length that is itself a size, "" for all others.
func Name(d int) string {
	if e := find(d); e != nil && e.kind == symbol {
		return e.name
	}
	return ""
}

func (e *expr) format() string {
	switch e.kind {
	case symbol:
		return e.name
	case quotient:
		over := String(e.args[0])
		if f := find(e.args[0]); f != nil && f.kind == sum {
			over = "(" + over + ")"
		}
		under := String(e.args[1])
		if f := find(e.args[1]); f != nil && f.kind == sum {
			under = "(" + under + ")"
		}
		return "floor(" + over + "/" + under + ")"
	case largest:
		parts := make([]string, len(e.args))
		for i, a := range e.args {
			parts[i] = String(a)
		}
		return "max(" + strings.Join(parts, ",") + ")"
	}
	var b strings.Builder
	for i, t := range e.terms {
		if i > 0 && t.factor > 0 {
			b.WriteByte('+')
		}
		b.WriteString(t.format())
	}
	return b.String()
}

func (t term) format() string {
	parts := make([]string, len(t.atoms))
	for i, a := range t.atoms {
		parts[i] = String(a)
	}
	product := strings.Join(parts, "*")
	switch {
	case product == "":
		return strconv.Itoa(t.factor)
	case t.factor == 1:
		return product
	case t.factor == -1:
		return "-" + product
	}
	return strconv.Itoa(t.factor) + "*" + product
}

// Eval returns the length for the given sizes.
func Eval(d int, sizes map[string]int) (int, error) {
	return Fold(d, Steps[int]{
		Constant: func(n int) (int, error) { return n, nil },
		Size: func(name string) (int, error) {
			if n, ok := sizes[name]; ok {
				return n, nil
			}
			return 0, fmt.Errorf("the size %q is not given", name)
		},
		Add: func(a, b int) (int, error) { return a + b, nil },
		Mul: func(a, b int) (int, error) { return a * b, nil },
		Div: func(a, b int) (int, error) {
			if b < 1 {
				return 0, fmt.Errorf("%s divides by %d", String(d), b)
			}
			return FloorDiv(a, b), nil
		},
		Max: func(a, b int) (int, error) { return max(a, b), nil },
	})
}

// Steps say how to combine the parts of an expression; see [Fold]. Div rounds down.
type Steps[T any] struct {
	Constant           func(n int) (T, error)
	Size               func(name string) (T, error)
	Add, Mul, Div, Max func(a, b T) (T, error)
}

// Fold takes an expression apart: constants and sizes are turned into values, and these are combined.
func Fold[T any](d int, s Steps[T]) (T, error) {
	var zero T
	if Known(d) {
		return s.Constant(d)
	}
	e := find(d)
	if e == nil {
		return zero, Check(d)
	}
	two := func(f func(a, b T) (T, error), a T, d int) (T, error) {
		b, err := Fold(d, s)
		if err != nil {
			return zero, err
		}
		return f(a, b)
	}
	switch e.kind {
	case symbol:
		return s.Size(e.name)
	case quotient, largest:
		f := s.Div
		if e.kind == largest {
			f = s.Max
		}
		out, err := Fold(e.args[0], s)
		for _, arg := range e.args[1:] {
			if err != nil {
				return zero, err
			}
			out, err = two(f, out, arg)
		}
		return out, err
	}
	var total T
	for i, t := range e.terms {
		product, err := foldTerm(t, s)
		if err != nil {
			return zero, err
		}
		if i == 0 {
			total = product
		} else if total, err = s.Add(total, product); err != nil {
			return zero, err
		}
	}
	return total, nil
}

func foldTerm[T any](t term, s Steps[T]) (T, error) {
	var out T
	begun := false
	take := func(d int) error {
		v, err := Fold(d, s)
		if err == nil && begun {
			v, err = s.Mul(out, v)
		}
		out, begun = v, true
		return err
	}
	for _, a := range t.atoms {
		if err := take(a); err != nil {
			return out, err
		}
	}
	if t.factor != 1 || !begun {
		err := take(t.factor)
		return out, err
	}
	return out, nil
}

// Depends reports whether a length depends on the size of the given name.
func Depends(d int, size string) bool {
	either := func(a, b bool) (bool, error) { return a || b, nil }
	depends, _ := Fold(d, Steps[bool]{
		Constant: func(int) (bool, error) { return false, nil },
		Size:     func(name string) (bool, error) { return name == size, nil },
		Add:      either, Mul: either, Div: either, Max: either,
	})
	return depends
}
