//go:build pjrt && linux

package main

import (
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/pjrt"
)

func init() { plugins = pjrtPlugins }

func pjrtPlugins() []plugin {
	var all []plugin
	for _, kind := range []string{"tpu", "xla"} {
		p := plugin{Kind: kind}
		b, err := kernels.Lookup(kind)
		if err == nil {
			var info pjrt.Info
			if info, err = b.(*pjrt.Backend).Info(); err == nil {
				p.Path, p.Platform, p.Version = info.Path, info.Platform, info.Interface
			}
		}
		if err != nil {
			p.Problem = oneLine(err.Error())
		}
		all = append(all, p)
	}
	return all
}
