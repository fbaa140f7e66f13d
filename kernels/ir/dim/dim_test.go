package dim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	batch = Symbol("batch")
	time  = Symbol("time")
)

func TestConstants(t *testing.T) {
	require.Equal(t, 9, Add(2, 3, 4))
	require.Equal(t, -1, Sub(2, 3))
	require.Equal(t, 24, Mul(2, 3, 4))
	require.Equal(t, 1, Mul())
	require.Equal(t, -2, FloorDiv(-3, 2))
	require.Equal(t, 2, CeilDiv(3, 2))
	require.Equal(t, 1, Mod(-3, 2))
	require.Equal(t, 3, Max(2, 3))
	require.Equal(t, 2, Min(2, 3))
}

// Lengths of the same normal form are the same int, and print alike.
func TestNormalForm(t *testing.T) {
	pool := func(d, n int) int { return Max(Add(FloorDiv(Sub(d, n), n), 1), 0) }
	six := time
	for range 6 {
		six = pool(six, 2)
	}
	same := time
	for range 3 {
		same = CeilDiv(same, 2)
	}
	for _, c := range []struct {
		want string
		got  int
	}{
		{"batch", batch},
		{"floor(time/64)", six},
		{"floor(time/64)", pool(time, 64)},
		{"floor((time+7)/8)", same},
		{"floor((time+7)/8)", CeilDiv(time, 8)},
		{"2*batch+2*time+1", Add(time, Mul(2, batch), 1, time)},
		{"8*batch*time", Mul(time, 4, batch, 2)},
		{"time", FloorDiv(Mul(8, batch, time), Mul(batch, 8))},
		{"1", FloorDiv(Add(time, 1), Add(time, 1))},
		{"0", Sub(time, time)},
		{"0", Mul(0, time)},
		{"floor(time/2)+time+1", FloorDiv(Add(Mul(3, time), 2), 2)},
		{"floor(time/2)", FloorDiv(Add(Mul(2, time), 1), 4)},
		{"0", Mod(Mul(time, 6), 3)},
		{"max(0,time-2)", Max(Sub(time, 2), 0)},
		{"max(0,time-4)", Max(Sub(Max(Sub(time, 2), 0), 2), 0)},
		{"time+3", Max(Add(time, 3), time)},
		{"max(batch,time)", Max(time, batch)},
		{"batch*time-max(0,batch*time-5)", Min(Mul(batch, time), 5)},
		// "same" with a window of 3 and strides of 2: the padded length gives ceil(time/2).
		{"floor((time+1)/2)", Max(Add(FloorDiv(Sub(Add(time, Max(Sub(Add(Mul(2, Sub(CeilDiv(time, 2), 1)), 3), time), 0)), 3), 2), 1), 0)},
	} {
		require.Equal(t, c.want, String(c.got))
	}
	require.NotEqual(t, Symbol("a"), Symbol("b"))
	require.Equal(t, "batch", Name(batch))
	require.Empty(t, Name(six))
	require.Empty(t, Name(3))
}

// Random expressions have, for random sizes, the value that ints give.
func TestRandomExpressions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 3000 {
		sizes := []map[string]int{{"batch": r.IntN(5), "time": r.IntN(200), "width": r.IntN(40)}, {"batch": 1 + r.IntN(300), "time": r.IntN(20), "width": 1}}
		type value struct {
			d      int
			want   [2]int
			recipe string
		}
		var all []value
		for _, name := range []string{"batch", "time", "width"} {
			all = append(all, value{Symbol(name), [2]int{sizes[0][name], sizes[1][name]}, name})
		}
		for range 8 {
			a, b, k := all[r.IntN(len(all))], all[r.IntN(len(all))], 1+r.IntN(7)
			v := value{recipe: fmt.Sprintf("(%s ? %s, %d)", a.recipe, b.recipe, k)}
			op := r.IntN(7)
			apply := func(x, y int, add, sub func(a, b int) int, mul, floor, ceil, largest, least func(a, b int) int) int {
				switch op {
				case 0:
					return add(add(x, y), k)
				case 1:
					return sub(x, k)
				case 2:
					return mul(x, k)
				case 3:
					return floor(x, k)
				case 4:
					return ceil(x, k)
				case 5:
					return largest(sub(x, y), k)
				}
				return least(x, add(y, k))
			}
			v.d = apply(a.d, b.d, func(a, b int) int { return Add(a, b) }, Sub, func(a, b int) int { return Mul(a, b) }, FloorDiv, CeilDiv, Max, Min)
			for i := range v.want {
				v.want[i] = apply(a.want[i], b.want[i], func(a, b int) int { return a + b }, func(a, b int) int { return a - b }, func(a, b int) int { return a * b },
					func(a, b int) int { return int(math.Floor(float64(a) / float64(b))) }, func(a, b int) int { return int(math.Ceil(float64(a) / float64(b))) },
					func(a, b int) int { return max(a, b) }, func(a, b int) int { return min(a, b) })
				got, err := Eval(v.d, sizes[i])
				require.NoError(t, err, "round %d: %s", round, v.recipe)
				require.Equal(t, v.want[i], got, "round %d: %s = %s for %v", round, v.recipe, String(v.d), sizes[i])
			}
			if AtLeast(v.d, 1) {
				require.Positive(t, v.want[0], "%s", String(v.d))
				require.Positive(t, v.want[1], "%s", String(v.d))
			}
			all = append(all, v)
		}
	}
}

func TestRelations(t *testing.T) {
	require.True(t, MayEqual(time, 5))
	require.True(t, MayEqual(time, Add(time, 1)))
	require.False(t, MayEqual(4, 5))
	require.True(t, Differ(time, Add(time, 1)))
	require.True(t, Differ(Mul(12, batch), Mul(5, batch)))
	require.False(t, Differ(Mul(12, batch), Mul(5, time)))
	require.False(t, Differ(time, time))
	require.True(t, Less(time, Add(time, 1)))
	require.False(t, Less(time, Add(batch, 1)))
	require.False(t, Less(3, time))
	require.True(t, AtLeast(Add(time, 2), 2))
	require.False(t, AtLeast(Sub(time, 2), 0))
	require.True(t, ShapesMayEqual([]int{time, 3}, []int{7, 3}))
	require.False(t, ShapesMayEqual([]int{time, 3}, []int{7, 4}))
	require.True(t, Known(3))
	require.False(t, AllKnown([]int{3, batch}))
	require.True(t, AllKnown([]int{3, 4}))
}

// Raw arithmetic on a handle is found, and stays found through further operations.
func TestRawArithmetic(t *testing.T) {
	for i, d := range []int{time + 1, time - 1, 2 * time, time / 2, time - batch, batch - time, -time, invalid, Symbol(""), Symbol("a+b"), FloorDiv(time, 0), FloorDiv(3, 0)} {
		require.Error(t, Check(d), "%d", i)
		if !Known(d) {
			for _, made := range []int{Add(d, 1), Sub(d, time), Mul(2, d), FloorDiv(d, 2), Max(d, 3), Min(d, 3)} {
				require.Error(t, Check(made), "%d", i)
			}
			_, err := Eval(d, nil)
			require.Error(t, err)
			require.False(t, AtLeast(d, 0))
			require.False(t, Less(d, time))
			require.False(t, Differ(d, 3))
		}
	}
	require.NoError(t, Check(time))
	require.NoError(t, Check(0))
	require.ErrorContains(t, Check(-1), "0 or more")
	require.ErrorContains(t, Check(time+1), "package dim")
	_, err := Eval(FloorDiv(time, batch), map[string]int{"time": 3, "batch": 0})
	require.ErrorContains(t, err, "divides by 0")
	_, err = Eval(time, nil)
	require.ErrorContains(t, err, `"time"`)
}

// Goroutines that make the same expressions at once get the same handles, and a repeated trace adds nothing to the
// table.
func TestShared(t *testing.T) {
	make := func() []int {
		var out []int
		for i := range 200 {
			out = append(out, Add(FloorDiv(Mul(Symbol("shared"), i+1), 7), Symbol("n"+strconv.Itoa(i))))
		}
		return out
	}
	results := [8][]int{}
	var wait sync.WaitGroup
	for i := range results {
		wait.Go(func() { results[i] = make() })
	}
	wait.Wait()
	for _, r := range results[1:] {
		require.Equal(t, results[0], r)
	}
	before := len(table.exprs)
	make()
	require.Len(t, table.exprs, before)
}

func ExampleAdd() {
	time := Symbol("time")
	fmt.Println(String(Add(Mul(time, 3), 1)), Add(2, 3))
	// Output: 3*time+1 5
}

func ExampleEval() {
	pooled := FloorDiv(Symbol("time"), 64)
	n, err := Eval(pooled, map[string]int{"time": 1000})
	fmt.Println(n, err)
	// Output: 15 <nil>
}
