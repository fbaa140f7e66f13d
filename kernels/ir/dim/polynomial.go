package dim

import (
	"cmp"
	"slices"
)

// term is factor times the product of atoms, which are handles of symbols, quotients and maxima. They are sorted; a
// power repeats its atom.
type term struct {
	factor int
	atoms  []int
}

// polynomial is a sum of terms with different atoms, sorted, none of them 0. It is never changed.
type polynomial []term

func constant(n int) polynomial {
	if n == 0 {
		return nil
	}
	return polynomial{{factor: n}}
}

// polynomialOf returns the polynomial that a length stands for, or false if it is no length.
func polynomialOf(d int) (polynomial, bool) {
	if Known(d) {
		return constant(d), true
	}
	e := find(d)
	switch {
	case e == nil:
		return nil, false
	case e.kind == sum:
		return e.terms, true
	}
	return polynomial{{1, []int{d}}}, true
}

// handle returns the length that stands for the polynomial.
func (p polynomial) handle() int {
	switch {
	case len(p) == 0:
		return 0
	case len(p) == 1 && len(p[0].atoms) == 0:
		return p[0].factor
	case len(p) == 1 && p[0].factor == 1 && len(p[0].atoms) == 1:
		return p[0].atoms[0]
	}
	return intern(&expr{kind: sum, terms: p})
}

// order puts higher degrees first and the constant last.
func order(a, b term) int {
	return cmp.Or(cmp.Compare(len(b.atoms), len(a.atoms)), slices.CompareFunc(a.atoms, b.atoms, byText))
}

func byText(a, b int) int {
	if a == b {
		return 0
	}
	return cmp.Or(cmp.Compare(find(a).text, find(b).text), cmp.Compare(a, b))
}

// normal sorts terms, which are few and nearly in order, and adds up those with the same atoms. slices.SortFunc would
// add 10 kB to programs.
func normal(terms []term) polynomial {
	var out polynomial
	for _, t := range terms {
		i := len(out)
		for i > 0 && order(out[i-1], t) > 0 {
			i--
		}
		if i > 0 && order(out[i-1], t) == 0 {
			out[i-1].factor += t.factor
			continue
		}
		out = append(out, t)
		copy(out[i+1:], out[i:])
		out[i] = t
	}
	return slices.DeleteFunc(out, func(t term) bool { return t.factor == 0 })
}

// plus returns p + factor*q.
func (p polynomial) plus(q polynomial, factor int) polynomial {
	terms := slices.Clone(p)
	for _, t := range q {
		terms = append(terms, term{t.factor * factor, t.atoms})
	}
	return normal(terms)
}

func (p polynomial) times(q polynomial) polynomial {
	var terms []term
	for _, s := range p {
		for _, t := range q {
			atoms := slices.Concat(s.atoms, t.atoms)
			slices.SortFunc(atoms, byText)
			terms = append(terms, term{s.factor * t.factor, atoms})
		}
	}
	return normal(terms)
}

// split returns the polynomial without its constant, and the constant.
func (p polynomial) split() (polynomial, int) {
	if n := len(p); n > 0 && len(p[n-1].atoms) == 0 {
		return p[: n-1 : n-1], p[n-1].factor
	}
	return p, 0
}

// least returns a lower bound for sizes of at least the given one, or false if there is none.
func (p polynomial) least(size int) (int, bool) {
	n, known := p.leastOfTerms(size)
	if q, changed := p.withoutQuotients(); changed {
		if m, ok := q.leastOfTerms(size); ok && (!known || m > n) {
			return m, true
		}
	}
	return n, known
}

// withoutQuotients returns a polynomial that is never above p, in which multiples of quotients by their divisors are
// replaced by bounds: c·floor(a/c) is from a-c+1 to a.
func (p polynomial) withoutQuotients() (q polynomial, changed bool) {
	for _, t := range p {
		if len(t.atoms) == 1 {
			if e := find(t.atoms[0]); e.kind == quotient && Known(e.args[1]) && t.factor%e.args[1] == 0 {
				over, _ := polynomialOf(e.args[0])
				if t.factor > 0 {
					over = over.plus(constant(e.args[1]-1), -1)
				}
				q, changed = q.plus(over, t.factor/e.args[1]), true
				continue
			}
		}
		q = q.plus(polynomial{t}, 1)
	}
	return q, changed
}

func (p polynomial) leastOfTerms(size int) (int, bool) {
	p, total := p.withoutDifferences()
	for _, t := range p {
		product := t.factor
		if t.factor < 0 && len(t.atoms) > 0 {
			return 0, false
		}
		for _, a := range t.atoms {
			n, ok := leastAtom(a, size)
			if !ok || n < 0 {
				return 0, false
			}
			product *= n
		}
		total += product
	}
	return total, true
}

// withoutDifferences removes differences of quotients with the same divisor whose dividends differ by a constant, such
// as floor((t+1)/2) - floor(t/2), and returns a lower bound of the sum of these differences: floor(a/c) - floor(b/c) is
// at least floor((a-b)/c).
func (p polynomial) withoutDifferences() (rest polynomial, least int) {
	divided := func(t term) (open polynomial, k, c int) {
		if len(t.atoms) != 1 {
			return nil, 0, 0
		}
		e := find(t.atoms[0])
		if e.kind != quotient || !Known(e.args[1]) {
			return nil, 0, 0
		}
		over, _ := polynomialOf(e.args[0])
		open, k = over.split()
		return open, k, e.args[1]
	}
	rest = slices.Clone(p)
	for i := range rest {
		minus, k, c := divided(rest[i])
		for j := range rest {
			if c == 0 || rest[i].factor >= 0 || rest[j].factor <= 0 {
				continue
			}
			plus, k2, c2 := divided(rest[j])
			if c != c2 || len(plus.plus(minus, -1)) > 0 {
				continue
			}
			n := min(-rest[i].factor, rest[j].factor)
			least += n * FloorDiv(k2-k, c)
			rest[i].factor += n
			rest[j].factor -= n
		}
	}
	return slices.DeleteFunc(rest, func(t term) bool { return t.factor == 0 }), least
}

func leastAtom(d, size int) (int, bool) {
	switch e := find(d); e.kind {
	case symbol:
		return size, true
	case quotient:
		p, _ := polynomialOf(e.args[0])
		n, ok := p.least(size)
		if !ok || !Known(e.args[1]) {
			return 0, ok && n >= 0
		}
		return FloorDiv(n, e.args[1]), true
	default:
		best, known := 0, false
		for _, arg := range e.args {
			p, _ := polynomialOf(arg)
			if n, ok := p.least(size); ok && (!known || n > best) {
				best, known = n, true
			}
		}
		return best, known
	}
}

// floorDiv divides, rounding down. Terms that divide without a remainder are taken out, common factors are cancelled, a
// quotient of a quotient becomes one quotient, and that of a maximum becomes the maximum of the quotients.
func floorDiv(p, q polynomial) int {
	if len(q) == 0 {
		return invalid
	}
	if exact, ok := p.over(q); ok {
		return exact.handle()
	}
	open, c := q.split()
	if len(open) > 0 {
		if least, ok := q.least(1); !ok || least < 1 {
			return invalid
		}
		return intern(&expr{kind: quotient, args: []int{p.handle(), q.handle()}})
	}
	if c < 1 {
		return invalid
	}
	var whole, rest []term
	for _, t := range p {
		n := FloorDiv(t.factor, c)
		whole = append(whole, term{n, t.atoms})
		rest = append(rest, term{t.factor - n*c, t.atoms})
	}
	return Add(normal(whole).handle(), floorRest(normal(rest), c))
}

// floorRest is floorDiv of a polynomial whose factors are from 0 to c-1.
func floorRest(p polynomial, c int) int {
	open, k := p.split()
	if len(open) == 0 {
		return FloorDiv(k, c)
	}
	divisor := c
	for _, t := range open {
		divisor = gcd(divisor, t.factor)
	}
	if divisor > 1 {
		reduced := constant(FloorDiv(k, divisor))
		for _, t := range open {
			reduced = reduced.plus(polynomial{{t.factor / divisor, t.atoms}}, 1)
		}
		return floorDiv(reduced, constant(c/divisor))
	}
	if len(open) == 1 && open[0].factor == 1 && len(open[0].atoms) == 1 {
		switch e := find(open[0].atoms[0]); {
		case e.kind == quotient && Known(e.args[1]):
			inner, _ := polynomialOf(e.args[0])
			return floorDiv(inner.plus(constant(k*e.args[1]), 1), constant(c*e.args[1]))
		case e.kind == largest:
			parts := make([]polynomial, len(e.args))
			for i, arg := range e.args {
				inner, _ := polynomialOf(arg)
				parts[i], _ = polynomialOf(floorDiv(inner.plus(constant(k), 1), constant(c)))
			}
			return maximum(parts)
		}
	}
	return intern(&expr{kind: quotient, args: []int{p.handle(), c}})
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// over divides by a single term that divides every term of p.
func (p polynomial) over(q polynomial) (polynomial, bool) {
	if slices.EqualFunc(p, q, func(a, b term) bool { return a.factor == b.factor && slices.Equal(a.atoms, b.atoms) }) {
		return constant(1), true
	}
	if len(q) != 1 {
		return nil, false
	}
	var out []term
	for _, t := range p {
		if t.factor%q[0].factor != 0 {
			return nil, false
		}
		atoms := slices.Clone(t.atoms)
		for _, a := range q[0].atoms {
			i := slices.Index(atoms, a)
			if i < 0 {
				return nil, false
			}
			atoms = slices.Delete(atoms, i, i+1)
		}
		out = append(out, term{t.factor / q[0].factor, atoms})
	}
	return normal(out), true
}

// maximum returns the largest of several lengths. Nested maxima are flattened, lengths that another one always reaches
// are left out, and a constant among them is subtracted from all, so that it becomes 0.
func maximum(ps []polynomial) int {
	var flat []polynomial
	for _, p := range ps {
		open, k := p.split()
		if len(open) == 1 && open[0].factor == 1 && len(open[0].atoms) == 1 {
			if e := find(open[0].atoms[0]); e.kind == largest {
				for _, arg := range e.args {
					inner, _ := polynomialOf(arg)
					flat = append(flat, inner.plus(constant(k), 1))
				}
				continue
			}
		}
		flat = append(flat, p)
	}
	var kept []polynomial
	for _, p := range flat {
		above := func(q polynomial) bool { n, ok := q.plus(p, -1).least(0); return ok && n >= 0 }
		if slices.ContainsFunc(kept, above) {
			continue
		}
		kept = slices.DeleteFunc(kept, func(q polynomial) bool { n, ok := p.plus(q, -1).least(0); return ok && n >= 0 })
		kept = append(kept, p)
	}
	shift := 0
	for _, p := range kept {
		if open, k := p.split(); len(open) == 0 {
			shift = k
		}
	}
	args := make([]int, len(kept))
	for i, p := range kept {
		args[i] = p.plus(constant(-shift), 1).handle()
	}
	if len(args) == 1 {
		return Add(args[0], shift)
	}
	slices.SortFunc(args, func(a, b int) int { return cmp.Or(cmp.Compare(String(a), String(b)), cmp.Compare(a, b)) })
	return Add(intern(&expr{kind: largest, args: args}), shift)
}
