package cpu_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// exampleProgram adds two vectors of three numbers.
func exampleProgram() *ir.Program {
	p := ir.New("add")
	t := ir.Type{DType: ir.Float32, Shape: ir.Shape{3}}
	x, y := p.AddInput("x", t), p.AddInput("y", t)
	sum, _ := p.Add("model/add", ir.Add, nil, x, y)
	p.AddOutput("sum", sum[0])
	return p
}

func exampleBuffer(values ...float32) kernels.Buffer {
	b, _ := cpu.Backend{}.NewBuffer(kernels.Device{Kind: cpu.Kind}, ir.Type{DType: ir.Float32, Shape: ir.Shape{len(values)}})
	for i, v := range values {
		binary.LittleEndian.PutUint32(b.Bytes()[4*i:], math.Float32bits(v))
	}
	return b
}

func ExampleBackend() {
	backend, err := kernels.Lookup("cpu") // the registered cpu.Backend
	if err != nil {
		fmt.Println(err)
		return
	}
	add, err := kernels.Load(backend, exampleProgram(), kernels.Device{Kind: "cpu"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer add.Close()
	sum := exampleBuffer(0, 0, 0)
	err = add.Run(context.Background(), []kernels.Buffer{exampleBuffer(1, 2, 3), exampleBuffer(10, 20, 30)}, []kernels.Buffer{sum})
	for i := range 3 {
		fmt.Println(ir.Element(sum.Bytes(), ir.Float32, i), err)
	}
	// Output:
	// 11 <nil>
	// 22 <nil>
	// 33 <nil>
}

func ExampleProfiler() {
	add, _ := kernels.Load(cpu.Backend{}, exampleProgram(), kernels.Device{Kind: cpu.Kind})
	defer add.Close()
	profiler := add.Session.(cpu.Profiler)
	profiler.Profiling(true)
	for range 3 {
		_ = add.Run(context.Background(), []kernels.Buffer{exampleBuffer(1, 2, 3), exampleBuffer(10, 20, 30)}, []kernels.Buffer{exampleBuffer(0, 0, 0)})
	}
	for _, op := range profiler.Profile() {
		fmt.Println(op.Name, op.Scope, op.Calls, op.Time > 0)
	}
	// Output: add model/add 3 true
}

func ExampleOpProfile() {
	op := cpu.OpProfile{Name: "dot+add+relu", Scope: "model/dense", Calls: 100, Time: 25e6}
	fmt.Printf("%s (%s): %v a call\n", op.Name, op.Scope, op.Time/100)
	// Output: dot+add+relu (model/dense): 250µs a call
}

func ExampleIndexError() {
	err := &cpu.IndexError{Scope: "model/embedding", Op: "embedding", Index: "1000", Position: 17, Axis: 0, Length: 1000}
	fmt.Println(err)
	// Output: model/embedding: embedding: index 1000 (element 17 of the indices) is outside axis 0 of length 1000; valid indices are 0 to 999
}

func ExampleProgramProfile() {
	p := cpu.ProgramProfile{Program: "train_step", Ops: []cpu.OpProfile{{Name: "dot", Calls: 10, Time: 20e6, FLOPs: 134217728}}}
	op := p.Ops[0]
	fmt.Printf("%s: %s, %.1f GFLOP/s\n", p.Program, op.Name, float64(op.FLOPs)*float64(op.Calls)/op.Time.Seconds()/1e9)
	// Output: train_step: dot, 67.1 GFLOP/s
}
