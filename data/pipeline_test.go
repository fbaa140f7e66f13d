package data_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// counter is a source that counts what is pulled from it and notices whether it was closed.
type counter struct {
	n                      int // elements of a pass
	opened, pulled, closed int
	failAt                 int // yields an error instead of this element; 0: never
}

var errBroken = errors.New("broken source")

func (c *counter) pipeline() *data.Pipeline {
	return data.FromGenerator(func(context.Context, int) iter.Seq2[data.Batch, error] {
		return func(yield func(data.Batch, error) bool) {
			c.opened++
			defer func() { c.closed++ }()
			for i := range c.n {
				if c.failAt > 0 && i == c.failAt {
					if !yield(data.Batch{}, errBroken) {
						return
					}
				}
				c.pulled++
				if !yield(data.Batch{X: data.List(dense([]int64{int64(i)}))}, nil) {
					return
				}
			}
		}
	})
}

func double(_ context.Context, element data.Batch) (data.Batch, error) {
	return data.Batch{X: data.List(dense([]int64{2 * number(element)}))}, nil
}

func even(element data.Batch) bool { return number(element)%2 == 0 }

// stages are pipelines over a source of single numbers; each is held to the rules of Dataset. want is what the stage
// makes of 0, ..., 9, in sorted order where the stage mixes them.
var stages = []struct {
	name  string
	apply func(*data.Pipeline) *data.Pipeline
	want  []int64
	mixes bool
}{
	{"source", func(p *data.Pipeline) *data.Pipeline { return p }, upTo(10), false},
	{"Map", func(p *data.Pipeline) *data.Pipeline { return p.Map(double) }, []int64{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}, false},
	{"ParallelMap", func(p *data.Pipeline) *data.Pipeline { return p.ParallelMap(3, double) }, []int64{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}, false},
	{"Filter", func(p *data.Pipeline) *data.Pipeline { return p.Filter(even) }, []int64{0, 2, 4, 6, 8}, false},
	{"Take", func(p *data.Pipeline) *data.Pipeline { return p.Take(4) }, upTo(4), false},
	{"Take more", func(p *data.Pipeline) *data.Pipeline { return p.Take(40) }, upTo(10), false},
	{"Take all", func(p *data.Pipeline) *data.Pipeline { return p.Take(-1) }, upTo(10), false},
	{"Take none", func(p *data.Pipeline) *data.Pipeline { return p.Take(0) }, upTo(0), false},
	{"Skip", func(p *data.Pipeline) *data.Pipeline { return p.Skip(7) }, []int64{7, 8, 9}, false},
	{"Skip more", func(p *data.Pipeline) *data.Pipeline { return p.Skip(70) }, upTo(0), false},
	{"Skip all", func(p *data.Pipeline) *data.Pipeline { return p.Skip(-1) }, upTo(0), false},
	{"Shard 0", func(p *data.Pipeline) *data.Pipeline { return p.Shard(3, 0) }, []int64{0, 3, 6, 9}, false},
	{"Shard 2", func(p *data.Pipeline) *data.Pipeline { return p.Shard(3, 2) }, []int64{2, 5, 8}, false},
	{"Repeat", func(p *data.Pipeline) *data.Pipeline { return p.Take(2).Repeat(3) }, []int64{0, 1, 0, 1, 0, 1}, false},
	{"Repeat none", func(p *data.Pipeline) *data.Pipeline { return p.Repeat(0) }, upTo(0), false},
	{"Repeat for ever", func(p *data.Pipeline) *data.Pipeline { return p.Skip(8).Repeat(-1).Take(5) }, []int64{8, 9, 8, 9, 8}, false},
	{"Repeat of nothing", func(p *data.Pipeline) *data.Pipeline { return p.Take(0).Repeat(-1) }, upTo(0), false},
	{"Concatenate", func(p *data.Pipeline) *data.Pipeline { return p.Skip(8).Concatenate(p.Take(2)) }, []int64{8, 9, 0, 1}, false},
	{"Cache", func(p *data.Pipeline) *data.Pipeline { return p.Cache() }, upTo(10), false},
	{"Prefetch", func(p *data.Pipeline) *data.Pipeline { return p.Prefetch(3) }, upTo(10), false},
	{"Shuffle", func(p *data.Pipeline) *data.Pipeline { return p.Shuffle(4, 1) }, upTo(10), true},
	{"Shuffle all", func(p *data.Pipeline) *data.Pipeline { return p.Shuffle(100, 1) }, upTo(10), true},
	{"Batch, Unbatch", func(p *data.Pipeline) *data.Pipeline { return p.Batch(4, false).Unbatch() }, upTo(10), false},
	{"Batch, Unbatch, dropped", func(p *data.Pipeline) *data.Pipeline { return p.Batch(4, true).Unbatch() }, upTo(8), false},
	{"Zip", func(p *data.Pipeline) *data.Pipeline { return p.Zip(p.Take(3)).Map(firstOfX) }, upTo(3), false},
	{"Zip with longer", func(p *data.Pipeline) *data.Pipeline { return p.Take(3).Zip(p, p.Repeat(-1)).Map(firstOfX) }, upTo(3), false},
	{"a chain", func(p *data.Pipeline) *data.Pipeline {
		return p.Shuffle(5, 2).ParallelMap(2, double).Prefetch(2).Batch(3, false).Prefetch(1).Unbatch()
	}, []int64{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}, true},
}

func firstOfX(_ context.Context, element data.Batch) (data.Batch, error) {
	return data.Batch{X: data.List(element.X.Arrays[0])}, nil
}

func TestStagesYieldTheirElements(t *testing.T) {
	noLeak(t)
	for _, s := range stages {
		t.Run(s.name, func(t *testing.T) {
			c := &counter{n: 10}
			p := s.apply(c.pipeline())
			require.NoError(t, p.Err())
			for epoch := range 2 {
				got := numbersOf(t, p, epoch)
				assert.Equal(t, got, numbersOf(t, p, epoch), "the same epoch again")
				if s.mixes {
					slices.Sort(got)
				}
				assert.Equal(t, s.want, got, "epoch %d", epoch)
			}
			checkCardinality(t, s.name, s.apply(data.Range(10)), len(s.want))
			if n, known := p.Cardinality(); known {
				assert.Equal(t, len(s.want), n, "of a source of unknown size")
			}
		})
	}
}

func checkCardinality(t *testing.T, stage string, p *data.Pipeline, want int) {
	t.Helper()
	if n, known := p.Cardinality(); known {
		assert.Equal(t, want, n)
	} else {
		assert.Contains(t, []string{"Filter", "Batch, Unbatch", "Batch, Unbatch, dropped", "a chain"}, stage)
	}
}

func TestStagesStopWhenTheLoopBreaks(t *testing.T) {
	noLeak(t)
	for _, s := range stages {
		for after := range min(len(s.want), 3) {
			c := &counter{n: 10}
			p := s.apply(c.pipeline())
			n := 0
			for _, err := range p.Batches(t.Context(), 0) {
				require.NoError(t, err)
				if n++; n > after {
					break
				}
			}
			assert.Equal(t, after+1, n)
			assert.Equal(t, c.opened, c.closed, "%s: the source was not closed when the loop ended", s.name)
			assert.Empty(t, goroutines(), s.name)
		}
	}
}

func TestStagesStopAfterAnError(t *testing.T) {
	noLeak(t)
	for _, s := range stages {
		t.Run(s.name, func(t *testing.T) {
			c := &counter{n: 10, failAt: 3}
			n, err := firstError(t, t.Context(), s.apply(c.pipeline()))
			if len(s.want) == 0 && err == nil {
				return // the stage asks for nothing
			}
			if s.name == "Take" || s.name == "Repeat" || s.name == "Zip" || s.name == "Zip with longer" {
				if err == nil {
					assert.LessOrEqual(t, n, 6)
					return // it ended before the error
				}
			}
			require.ErrorIs(t, err, errBroken)
			assert.ErrorContains(t, err, "data: FromGenerator: element 3: broken source")
			assert.LessOrEqual(t, c.pulled, 3*c.opened, "elements after the error")
			assert.Equal(t, c.opened, c.closed)
			assert.Positive(t, c.closed)
		})
	}
}

func TestStagesStopWhenTheirContextEnds(t *testing.T) {
	noLeak(t)
	for _, s := range stages {
		t.Run(s.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			because := errors.New("no time left")
			c := &counter{n: 10}
			p := s.apply(c.pipeline()).Repeat(-1)
			n := 0
			var failure error
			for _, err := range p.Batches(ctx, 0) {
				require.NoError(t, failure, "the pass went on after an error")
				if failure = err; err == nil {
					if n++; n == 2 {
						cancel(because)
					}
				}
			}
			if len(s.want) == 0 {
				assert.NoError(t, failure)
				return
			}
			require.ErrorIs(t, failure, because)
			assert.Equal(t, 2, n)

			n, err := firstError(t, ctx, s.apply(c.pipeline()))
			require.ErrorIs(t, err, because, "a context that ended before the pass")
			assert.Zero(t, n)
		})
	}
}

func TestTakePullsExactlyWhatItYields(t *testing.T) {
	for want := range 5 {
		c := &counter{n: 10}
		assert.Equal(t, upTo(want), numbersOf(t, c.pipeline().Take(want), 0))
		assert.Equal(t, want, c.pulled)
		assert.Equal(t, min(want, 1), c.closed, "Take(0) opens nothing")
	}
}

func TestBatchPullsOnlyWhatItNeeds(t *testing.T) {
	c := &counter{n: 10}
	assert.Len(t, batchesOf(t, c.pipeline().Batch(3, false).Take(2), 0), 2)
	assert.Equal(t, 6, c.pulled)
}

func TestStagesRejectTheirArguments(t *testing.T) {
	p := data.Range(3)
	for want, bad := range map[string]*data.Pipeline{
		"data: Range: -1 numbers":                          data.Range(-1),
		"data: FromGenerator: the function is nil":         data.FromGenerator(nil),
		"data: FromDataset: the dataset is nil":            data.FromDataset(nil),
		"data: Map: the function is nil":                   p.Map(nil),
		"data: ParallelMap: the function is nil":           p.ParallelMap(1, nil),
		"data: ParallelMap: -1 workers":                    p.ParallelMap(-1, double),
		"data: Filter: the function is nil":                p.Filter(nil),
		"data: Shard: index 2 of 2 shards":                 p.Shard(2, 2),
		"data: Shard: index 0 of 0 shards":                 p.Shard(0, 0),
		"data: Repeat: -2 passes":                          p.Repeat(-2),
		"data: Shuffle: buffer of 0 elements":              p.Shuffle(0, 1),
		"data: Batch: size 0":                              p.Batch(0, false),
		"data: Prefetch: 0 elements":                       p.Prefetch(0),
		"data: Zip: the pipeline is nil":                   p.Zip(nil),
		"data: Concatenate: the pipeline is nil":           p.Concatenate(nil),
		"data: Arrays: x is nil":                           data.FromTensorSlices(nil, nil),
		"data: Batch: size -1; expected at least 1":        p.Batch(-1, true).Map(double).Prefetch(1),
		"data: Shard: index 1 of 1 shards; expected 0 <= ": p.Zip(p.Shard(1, 1)),
		"data: Shard: index 5 of 1 shards; expected 0 <= ": p.Concatenate(p.Shard(1, 5)),
	} {
		require.ErrorContains(t, bad.Err(), want)
		n, err := firstError(t, t.Context(), bad)
		require.ErrorIs(t, err, bad.Err())
		assert.Zero(t, n)
		_, known := bad.Cardinality()
		assert.False(t, known)
	}
}

func TestMapErrorsNameStageAndElement(t *testing.T) {
	noLeak(t)
	failing := func(_ context.Context, b data.Batch) (data.Batch, error) {
		if number(b) == 2 {
			return data.Batch{}, errBroken
		}
		return b, nil
	}
	for name, p := range map[string]*data.Pipeline{"Map": data.Range(9).Map(failing), "ParallelMap": data.Range(9).ParallelMap(3, failing)} {
		n, err := firstError(t, t.Context(), p.Batch(2, false).Prefetch(1))
		require.ErrorIs(t, err, errBroken)
		require.EqualError(t, err, "data: "+name+": element 2: broken source")
		assert.Equal(t, 1, n, "the batch before the error is whole")
	}
	empty := func(context.Context, data.Batch) (data.Batch, error) { return data.Batch{}, nil }
	_, err := firstError(t, t.Context(), data.Range(2).Map(empty))
	require.ErrorContains(t, err, "data: Map: element 0: the element holds no array")
	holes := func(context.Context, data.Batch) (data.Batch, error) {
		return data.Batch{X: data.List(data.Array{})}, nil
	}
	_, err = firstError(t, t.Context(), data.FromGenerator(func(context.Context, int) iter.Seq2[data.Batch, error] { return nil }))
	require.EqualError(t, err, "data: FromGenerator: the function returned nil; expected a sequence, one without elements where there are none")
	_, err = firstError(t, t.Context(), data.Range(2).Map(holes))
	require.ErrorContains(t, err, "x is no array")
}

func TestInfiniteCardinality(t *testing.T) {
	forever := data.Range(3).Repeat(-1)
	for name, p := range map[string]*data.Pipeline{
		"Repeat": forever, "Skip": forever.Skip(2), "Shard": forever.Shard(2, 0), "Batch": forever.Batch(2, true), "Map": forever.Map(double),
		"Concatenate": data.Range(2).Concatenate(forever), "Zip": forever.Zip(forever), "Repeat again": forever.Repeat(2), "Shuffle": forever.Shuffle(2, 0),
	} {
		n, known := p.Cardinality()
		assert.True(t, known, name)
		assert.Equal(t, data.Infinite, n, name)
	}
	n, known := forever.Take(4).Cardinality()
	assert.True(t, known)
	assert.Equal(t, 4, n)
	_, known = data.Range(1).Filter(even).Concatenate(data.Range(2)).Cardinality()
	assert.False(t, known)
	_, known = data.Cardinality(struct{ data.Dataset }{})
	assert.False(t, known, "a dataset that is not Sized")
}

// TestHugeNumbers: a batch, a number of shards or of passes may be larger than any number of elements.
func TestHugeNumbers(t *testing.T) {
	for _, c := range []struct {
		name      string
		p         *data.Pipeline
		n, length int // length -1: not known
	}{
		{"Batch", data.Range(5).Batch(math.MaxInt, false), 1, 1},
		{"Batch, dropped", data.Range(5).Batch(math.MaxInt, true), 0, 0},
		{"Shard", data.Range(5).Shard(math.MaxInt, 1), 1, 1},
		{"Shard beyond", data.Range(5).Shard(math.MaxInt, 7), 0, 0},
		{"Repeat", data.Range(5).Repeat(math.MaxInt), 9, -1},
		{"Repeat one", data.Range(1).Repeat(math.MaxInt), 9, math.MaxInt},
		{"Shuffle", data.Range(5).Shuffle(math.MaxInt, 1), 5, 5},
		{"Take", data.Range(5).Take(math.MaxInt), 5, 5},
		{"Skip", data.Range(5).Skip(math.MaxInt), 0, 0},
	} {
		length, known := c.p.Cardinality()
		if !known {
			length = -1
		}
		assert.Equal(t, c.length, length, c.name)
		n := 0
		for _, err := range c.p.Take(9).Batches(t.Context(), 1) {
			require.NoError(t, err, c.name)
			n++
		}
		assert.Equal(t, c.n, n, c.name)
	}
}

func TestZipJoinsComponents(t *testing.T) {
	x := data.FromTensorSlices([]float32{1, 2}, nil)
	y := data.FromGenerator(func(context.Context, int) iter.Seq2[data.Batch, error] {
		return func(yield func(data.Batch, error) bool) {
			_ = yield(data.Batch{Y: data.List(dense([]int64{5}))}, nil) && yield(data.Batch{Y: data.List(dense([]int64{6}))}, nil)
		}
	})
	joined := batchesOf(t, x.Zip(y, x), 0)
	require.Len(t, joined, 2)
	assert.Equal(t, "x (float32[], float32[]), y int64[]", joined[1].String())
	assert.Equal(t, []int64{6}, joined[1].Y.Single().Elements())

	named := func(name string) *data.Pipeline {
		return data.FromTensorSlices(map[string]any{name: []float32{1, 2}}, nil)
	}
	both := batchesOf(t, named("a").Zip(named("b")), 0)
	assert.Equal(t, []string{"a", "b"}, both[0].X.Names)
	_, err := firstError(t, t.Context(), named("a").Zip(named("a")))
	require.ErrorContains(t, err, `data: Zip: element 0: x has two arrays named "a"`)
	_, err = firstError(t, t.Context(), named("a").Zip(x))
	require.ErrorContains(t, err, "data: Zip: element 0: x is named in one pipeline and not in another")
}

// reusing is a dataset that fills its only batch again and again, as Dataset allows.
type reusing struct{}

func (reusing) Batches(context.Context, int) iter.Seq2[data.Batch, error] {
	return func(yield func(data.Batch, error) bool) {
		values := []int64{0, 0}
		b := data.Batch{X: data.List(dense(values, 2))}
		for i := range 3 {
			values[0], values[1] = int64(2*i), int64(2*i+1)
			if !yield(b, nil) {
				return
			}
		}
	}
}

func (reusing) Cardinality() (int, bool) { return 3, true }

func TestFromDatasetCopiesWhatMayBeFilledAgain(t *testing.T) {
	p := data.FromDataset(reusing{})
	n, known := p.Cardinality()
	assert.True(t, known)
	assert.Equal(t, 3, n)
	assert.Equal(t, upTo(6), numbersOf(t, p.Prefetch(3).Unbatch(), 0))
}

func TestGeneratorRules(t *testing.T) {
	endsEarly := data.FromGenerator(func(ctx context.Context, _ int) iter.Seq2[data.Batch, error] {
		return func(func(data.Batch, error) bool) { <-ctx.Done() } // stops without saying why
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := firstError(t, ctx, endsEarly)
	require.ErrorIs(t, err, context.Canceled)

	epochs := data.FromGenerator(func(_ context.Context, epoch int) iter.Seq2[data.Batch, error] {
		return func(yield func(data.Batch, error) bool) {
			yield(data.Batch{X: data.List(dense([]int64{int64(epoch)}))}, nil)
		}
	})
	assert.Equal(t, []int64{7}, numbersOf(t, epochs, 7))
	assert.Equal(t, []int64{6, 7, 8}, numbersOf(t, epochs.Repeat(3), 2))
	assert.Equal(t, []int64{0, 1, 2}, numbersOf(t, epochs.Repeat(-1).Take(3), 0))
	_, err = firstError(t, t.Context(), data.FromGenerator(func(context.Context, int) iter.Seq2[data.Batch, error] {
		return func(yield func(data.Batch, error) bool) {
			yield(data.Batch{X: data.Tensors{Names: []string{"a"}}}, nil)
		}
	}))
	require.ErrorContains(t, err, "element 0: x has 1 names for 0 arrays")
}

func ExamplePipeline() {
	x := [][]float32{{0}, {1}, {2}, {3}, {4}, {5}}
	y := []int64{0, 1, 0, 1, 0, 1}
	scale := func(_ context.Context, element data.Batch) (data.Batch, error) {
		v := element.X.Single().Elements().([]float32)
		element.X = data.List(data.Must(data.ArrayOf([]float32{v[0] / 2}, 1)))
		return element, nil
	}
	p := data.FromTensorSlices(x, y).Skip(1).ParallelMap(2, scale).Batch(2, false).Prefetch(1)
	for batch, err := range p.Batches(context.Background(), 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(batch.X.Single().Elements(), batch.Y.Single().Elements())
	}
	// Output:
	// [0.5 1] [1 0]
	// [1.5 2] [1 0]
	// [2.5] [1]
}

func ExamplePipeline_Filter() {
	odd := func(element data.Batch) bool { return element.X.Single().Elements().([]int64)[0]%2 == 1 }
	for element := range data.Range(6).Filter(odd).Batches(context.Background(), 0) {
		fmt.Println(element.X.Single().Elements())
	}
	// Output:
	// [1]
	// [3]
	// [5]
}

func ExampleFromGenerator() {
	squares := data.FromGenerator(func(ctx context.Context, epoch int) iter.Seq2[data.Batch, error] {
		return func(yield func(data.Batch, error) bool) {
			for i := 0; ; i++ {
				x := data.Scalar(float32(i * i))
				if !yield(data.Batch{X: data.List(x)}, nil) {
					return // the consumer has enough
				}
			}
		}
	})
	for batch := range squares.Batch(3, true).Take(2).Batches(context.Background(), 0) {
		fmt.Println(batch.X.Single().Elements())
	}
	// Output:
	// [0 1 4]
	// [9 16 25]
}

func ExamplePipeline_Zip() {
	images := data.FromTensorSlices([][]float32{{1, 2}, {3, 4}}, nil)
	captions := data.FromTensorSlices([][]int32{{7, 8, 9}, {4, 5, 6}}, nil)
	for element := range images.Zip(captions).Batches(context.Background(), 0) {
		fmt.Println(element)
	}
	// Output:
	// x (float32[2], int32[3])
	// x (float32[2], int32[3])
}
