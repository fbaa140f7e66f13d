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
				p.Memories, err = memoriesOf(b.(*pjrt.Backend))
			}
		}
		if err != nil {
			p.Problem = oneLine(err.Error())
		}
		all = append(all, p)
	}
	return all
}

// memoriesOf lists the memories that the devices can access, nil if the plugin does not distinguish memories.
func memoriesOf(b *pjrt.Backend) (map[string][]deviceMemory, error) {
	var all map[string][]deviceMemory
	for _, d := range b.Devices() {
		found, err := b.Memories(d)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			if all == nil {
				all = map[string][]deviceMemory{}
			}
			all[d.String()] = append(all[d.String()], deviceMemory(m))
		}
	}
	return all, nil
}
