package pool_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// scale is the body of a parallel region: the arguments of the region in a struct.
type scale struct {
	x      []float32
	factor float32
}

func (s *scale) Run(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		s.x[i] *= s.factor
	}
}

func ExamplePool() {
	p := pool.New(4)
	defer p.Close()
	x := []float32{1, 2, 3, 4, 5}
	p.Parallel(len(x), 2, &scale{x, 10}) // chunks [0, 2), [2, 4), [4, 5)
	fmt.Println(x)
	// Output: [10 20 30 40 50]
}

func ExampleRecycler() {
	var recycler pool.Recycler[scale]
	task := recycler.Get() // allocated by the first call only
	task.x, task.factor = []float32{1, 2}, 3
	pool.Shared().Parallel(len(task.x), 1, task)
	fmt.Println(task.x)
	*task = scale{}
	recycler.Put(task)
	// Output: [3 6]
}

func ExamplePanicError() {
	defer func() {
		e := recover().(*pool.PanicError)
		fmt.Println(e.Value)
	}()
	var p *pool.Pool // serial
	p.Parallel(1, 1, panics{})
	// Output: out of range
}

type panics struct{}

func (panics) Run(int, int, int) { panic("out of range") }
