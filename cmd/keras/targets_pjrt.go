//go:build pjrt && linux

package main

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt"
)

func init() {
	openTarget = func(plugin, name string) (target, error) {
		t, err := pjrt.NewTarget(plugin, name)
		if err != nil {
			return nil, err
		}
		return pjrtTarget{t}, nil
	}
}

type pjrtTarget struct{ *pjrt.Target }

func (t pjrtTarget) Compile(p *ir.Program) (analysis, error) {
	a, err := t.Target.Compile(p)
	return analysis{a.FLOPs, a.BytesAccessed, a.Code, a.Arguments, a.Outputs, a.Aliased, a.Temporary, a.Peak}, err
}
