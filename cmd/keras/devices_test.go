package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The memories that devices reach are listed below their plugin, those of xla:2 before those of xla:10.
func TestDevicesListMemories(t *testing.T) {
	before := plugins
	t.Cleanup(func() { plugins = before })
	plugins = func() []plugin {
		own := []deviceMemory{{ID: 1, Kind: "device", Default: true}, {ID: 2, Kind: "pinned_host"}}
		return []plugin{
			{Kind: "tpu", Problem: "no libtpu.so"},
			{Kind: "xla", Path: "/lib/plugin.so", Platform: "cpu", Version: "0.115", Memories: map[string][]deviceMemory{"xla:10": own, "xla:2": own}},
			{Kind: "old", Path: "/lib/old.so", Platform: "cpu", Version: "0.57"},
		}
	}
	status, out, problem := execute(t, "devices")
	require.Zero(t, status, problem)
	require.Contains(t, out, `plugin for xla: /lib/plugin.so, platform cpu, interface 0.115
  memories of xla:2: device (1, default), pinned_host (2)
  memories of xla:10: device (1, default), pinned_host (2)
plugin for old: /lib/old.so, platform cpu, interface 0.57
`)
	status, out, problem = execute(t, "devices", "--json")
	require.Zero(t, status, problem)
	require.Contains(t, out, `"memories":{"xla:10":[{"id":1,"kind":"device"`)
}
