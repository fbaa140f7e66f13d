package main

import (
	"time"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// newDispatch measures launches of a program that squares four numbers in place, each waited for: what a launch costs
// beside its work.
func newDispatch(name string) (*job, error) {
	d, err := kernels.ParseDevice(name)
	if err != nil {
		return nil, err
	}
	backend, err := kernels.Lookup(d.Kind)
	if err != nil {
		return nil, err
	}
	p := ir.New("square")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{4}})
	y, err := p.Add("square", ir.Mul, nil, x, x)
	if err != nil {
		return nil, err
	}
	p.AddAlias("x", y[0], 0)
	program, err := kernels.Load(backend, p, d)
	if err != nil {
		return nil, err
	}
	buffer, err := backend.NewBuffer(d, p.Type(x))
	if err != nil {
		return nil, err
	}
	queue, err := backend.NewQueue(d)
	if err != nil {
		return nil, err
	}
	launch := kernels.Launch{Queue: queue, Inputs: []kernels.Buffer{buffer}, Outputs: []kernels.Buffer{nil}}
	return &job{key: "dispatch:launch", work: &workload{units: 1}, units: 1, lat: true, run: func() (int, float64, error) {
		begin := time.Now()
		err := program.Session.Launch(runs, launch).Wait(runs)
		return 1, time.Since(begin).Seconds(), err
	}}, nil
}
