package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Pipeline is a chain of transformations of elements, with the stages of tf.data. A Pipeline is immutable: each method
// returns a new one that reads from this one, so pipelines may share their first stages. Nothing happens until Batches
// is ranged over, and every pass starts from the beginning.
//
// The elements of a source such as FromTensorSlices are single examples; the Batch stage stacks them. The memory of
// elements is never reused, so they may be kept. They may share memory with each other and with the source, so they
// must not be written to.
//
// A stage with wrong arguments yields an error that names it in the first pass; [Pipeline.Err] returns it earlier.
type Pipeline struct {
	stage string // for errors
	err   error  // wrong arguments, of this stage or one before
	size  func() (n int, known bool)
	pass  func(ctx context.Context, epoch int) iter.Seq2[Batch, error]
}

// Err returns what was wrong with the arguments of the stages so far, or nil.
func (p *Pipeline) Err() error {
	if p == nil {
		return fmt.Errorf("data: %w", errNoPipeline)
	}
	return p.err
}

// Cardinality implements Sized: the number of elements of a pass, [Infinite], or known = false after Filter, a
// generator, and other stages whose length is not known in advance.
func (p *Pipeline) Cardinality() (n int, known bool) {
	if p.Err() != nil || p.size == nil {
		return 0, false
	}
	return p.size()
}

// Batches implements Dataset. It yields the elements of the last stage.
func (p *Pipeline) Batches(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
	if err := p.Err(); err != nil {
		return failed(err)
	}
	return func(yield func(Batch, error) bool) {
		for element, err := range p.pass(ctx, epoch) {
			if err == nil {
				err = canceled(ctx)
			}
			if err != nil {
				yield(Batch{}, err)
				return
			}
			if !yield(element, nil) {
				return
			}
		}
		if err := canceled(ctx); err != nil {
			yield(Batch{}, err)
		}
	}
}

// errorf returns an error that names this stage.
func (p *Pipeline) errorf(format string, args ...any) error {
	return fmt.Errorf("data: %s: "+format, append([]any{p.stage}, args...)...)
}

// fail returns a pipeline whose passes yield the error.
func (p *Pipeline) fail(format string, args ...any) *Pipeline {
	p.err = p.errorf(format, args...)
	return p
}

// then starts a stage that reads from p.
func (p *Pipeline) then(stage string) *Pipeline {
	if p == nil {
		return &Pipeline{stage: stage, err: fmt.Errorf("data: %s: %w", stage, errNoPipeline)}
	}
	return &Pipeline{stage: stage, err: p.err, size: p.size}
}

// MapFunc transforms an element. It must not write to the arrays it receives, and must return when ctx ends if it can
// block.
type MapFunc func(ctx context.Context, element Batch) (Batch, error)

// apply calls f and checks what it returned.
func (p *Pipeline) apply(ctx context.Context, f MapFunc, i int, element Batch) (Batch, error) {
	out, err := f(ctx, element)
	if err == nil {
		err = out.check()
	}
	if err != nil {
		return Batch{}, p.errorf("element %d: %w", i, err)
	}
	return out, nil
}

// Map replaces each element by the result of f. An error of f ends the pass.
func (p *Pipeline) Map(f MapFunc) *Pipeline {
	m := p.then("Map")
	if f == nil {
		return m.fail("the function is nil")
	}
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			i := 0
			for element, err := range p.Batches(ctx, epoch) {
				if err == nil {
					element, err = m.apply(ctx, f, i, element)
				}
				if !yield(element, err) || err != nil {
					return
				}
				i++
			}
		}
	}
	return m
}

// Filter keeps the elements for which keep returns true.
func (p *Pipeline) Filter(keep func(element Batch) bool) *Pipeline {
	m := p.then("Filter")
	m.size = nil
	if keep == nil {
		return m.fail("the function is nil")
	}
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			for element, err := range p.Batches(ctx, epoch) {
				if err == nil && !keep(element) {
					continue
				}
				if !yield(element, err) {
					return
				}
			}
		}
	}
	return m
}

// Take ends the pass after n elements; it does not request another one from the previous stage. A negative n takes all.
func (p *Pipeline) Take(n int) *Pipeline {
	m := p.then("Take")
	if n < 0 {
		m.pass = p.Batches
		return m
	}
	m.size = func() (int, bool) {
		switch k, known := p.Cardinality(); {
		case n == 0:
			return 0, true
		case known && k != Infinite:
			return min(n, k), true
		default:
			return n, known
		}
	}
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			if n == 0 {
				return
			}
			taken := 0
			for element, err := range p.Batches(ctx, epoch) {
				if !yield(element, err) {
					return
				}
				if taken++; taken == n {
					return
				}
			}
		}
	}
	return m
}

// Skip skips the first n elements of the pass; a negative n skips all.
func (p *Pipeline) Skip(n int) *Pipeline {
	if n < 0 {
		return p.Take(0)
	}
	m := p.then("Skip")
	m.size = func() (int, bool) {
		k, known := p.Cardinality()
		if known && k != Infinite {
			k = max(0, k-n)
		}
		return k, known
	}
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			skipped := 0
			for element, err := range p.Batches(ctx, epoch) {
				if err == nil && skipped < n {
					skipped++
					continue
				}
				if !yield(element, err) {
					return
				}
			}
		}
	}
	return m
}

// Shard keeps elements index, index+n, index+2n, ... of the pass: the share of worker number index among n workers. Put
// it early, before Shuffle and before expensive stages.
func (p *Pipeline) Shard(n, index int) *Pipeline {
	m := p.then("Shard")
	if n < 1 || index < 0 || index >= n {
		return m.fail("index %d of %d shards; expected 0 <= index < number of shards", index, n)
	}
	m.size = func() (int, bool) {
		k, known := p.Cardinality()
		if known && k > index {
			k = (k-1-index)/n + 1
		} else if known && k != Infinite {
			k = 0
		}
		return k, known
	}
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			i := 0
			for element, err := range p.Batches(ctx, epoch) {
				if err == nil {
					mine := i%n == index
					if i++; !mine {
						continue
					}
				}
				if !yield(element, err) {
					return
				}
			}
		}
	}
	return m
}

var errNoPipeline = errors.New("the pipeline is nil; look at the error of the function that makes it")

// Concatenate yields the elements of p and then those of other.
func (p *Pipeline) Concatenate(other *Pipeline) *Pipeline {
	m := p.then("Concatenate")
	if other == nil {
		return m.fail("%w", errNoPipeline)
	}
	if m.err == nil {
		m.err = other.err
	}
	m.size = func() (int, bool) {
		a, known := p.Cardinality()
		b, alsoKnown := other.Cardinality()
		switch {
		case known && a == Infinite, alsoKnown && b == Infinite:
			return Infinite, true
		default:
			return a + b, known && alsoKnown
		}
	}
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			for _, part := range []*Pipeline{p, other} {
				for element, err := range part.Batches(ctx, epoch) {
					if !yield(element, err) || err != nil {
						return
					}
				}
			}
		}
	}
	return m
}

// Zip pairs the elements of pipelines by their position: the arrays of X, Y and SampleWeight are those of p's element
// followed by those of each other's. So Zip joins inputs to labels that come from elsewhere:
//
//	data.FromTensorSlices(images, nil).Zip(labels) // labels: elements that only have a Y
//
// Within a component the arrays must be named in all pipelines, with different names, or in none. The pass ends with
// the shortest pipeline.
func (p *Pipeline) Zip(others ...*Pipeline) *Pipeline {
	m := p.then("Zip")
	all := append([]*Pipeline{p}, others...)
	for _, other := range others {
		if other == nil {
			return m.fail("%w", errNoPipeline)
		}
		if m.err == nil {
			m.err = other.err
		}
	}
	m.size = func() (int, bool) {
		shortest := Infinite
		for _, q := range all {
			n, known := q.Cardinality()
			if !known {
				return 0, false
			}
			if shortest == Infinite || n != Infinite && n < shortest {
				shortest = n
			}
		}
		return shortest, true
	}
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			next := make([]func() (Batch, error, bool), len(others))
			for i, other := range others {
				var stop func()
				next[i], stop = iter.Pull2(other.Batches(ctx, epoch))
				defer stop()
			}
			n := 0
			for element, err := range p.Batches(ctx, epoch) {
				for i := 0; i < len(next) && err == nil; i++ {
					other, otherErr, ok := next[i]()
					if !ok {
						return
					}
					if err = otherErr; err == nil {
						element, err = m.join(element, other, n)
					}
				}
				if !yield(element, err) || err != nil {
					return
				}
				n++
			}
		}
	}
	return m
}

// join appends the arrays of b to those of a.
func (p *Pipeline) join(a, b Batch, i int) (out Batch, err error) {
	for c, t := range out.components() {
		s, u := a.components()[c], b.components()[c]
		if s.Len() > 0 && u.Len() > 0 && (s.Names == nil) != (u.Names == nil) {
			return Batch{}, p.errorf("element %d: %s is named in one pipeline and not in another", i, componentNames[c])
		}
		t.Arrays = append(append([]Array(nil), s.Arrays...), u.Arrays...)
		if s.Names != nil || u.Names != nil {
			t.Names = append(append([]string(nil), s.Names...), u.Names...)
		}
	}
	if err := out.check(); err != nil {
		return Batch{}, p.errorf("element %d: %w", i, err)
	}
	return out, nil
}
