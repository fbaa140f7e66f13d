package memory

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func writeFiles(t *testing.T, files map[string]string) system {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return system{filepath.Join(root, "proc"), filepath.Join(root, "sys")}
}

func TestMemTotal(t *testing.T) {
	for text, want := range map[string]int{
		"MemTotal:       24684096 kB\nMemFree:        15604192 kB\n": 24684096 << 10,
		"": Addressable, "MemFree: 3 kB\n": Addressable, "MemTotal: x kB\n": Addressable, "MemTotal: 99999999999999999999 kB\n": Addressable, "MemTotal: -3 kB\n": Addressable,
	} {
		require.Equal(t, want, writeFiles(t, map[string]string{"proc/meminfo": text}).limit(), text)
	}
}

// TestControlGroups: the tightest of a process's groups and those around them counts, in both versions; files that are
// kept in memory make room.
func TestControlGroups(t *testing.T) {
	machine := "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\nSwapFree: 1024 kB\n"
	for name, test := range map[string]struct {
		files map[string]string
		limit int
		left  int
	}{
		"none":                        {map[string]string{}, 8 << 30, 4<<30 + 1<<20},
		"of a container":              {map[string]string{"sys/memory.max": "3221225472\n", "sys/memory.current": "1073741824\n", "sys/memory.stat": "inactive_file 1024\nactive_file 1\n"}, 3 << 30, 2<<30 + 1025},
		"without a limit":             {map[string]string{"sys/memory.max": "max\n", "sys/memory.current": "1073741824\n"}, 8 << 30, 4<<30 + 1<<20},
		"of a service, around it":     {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/a/memory.max": "1073741824", "sys/a/memory.current": "73741824", "sys/a/b/memory.max": "2147483648", "sys/a/b/memory.current": "0"}, 1 << 30, 1000000000},
		"version 1":                   {map[string]string{"proc/self/cgroup": "4:cpu,memory:/x\n0::/\n", "sys/memory/x/memory.limit_in_bytes": "1073741824", "sys/memory/x/memory.usage_in_bytes": "73741824", "sys/memory/x/memory.stat": "total_inactive_file 24\n"}, 1 << 30, 1000000024},
		"a path that is not here":     {map[string]string{"proc/self/cgroup": "0::/not/here\n", "sys/memory.max": "1073741824", "sys/memory.current": "1073741824"}, 1 << 30, 0},
		"promised and not yet in use": {map[string]string{"proc/self/status": "VmRSS: 1024 kB\nVmSwap: 1024 kB\n"}, 8 << 30, 4<<30 + 1<<20 - 8<<20},
	} {
		test.files["proc/meminfo"] = machine
		s := writeFiles(t, test.files)
		require.Equal(t, test.limit, s.limit(), name)
		least := room{left: Addressable}
		for _, r := range s.rooms(heap{mapped: 10 << 20}) {
			least = tighter(least, r)
		}
		require.Equal(t, test.left, least.left, name)
	}
	s := writeFiles(t, map[string]string{"proc/meminfo": machine, "proc/self/status": "VmRSS: 2048 kB\n"})
	require.Equal(t, 4<<30-7<<20, s.rooms(heap{mapped: 10 << 20})[0].left)
	require.Equal(t, 4<<30-2<<20, s.rooms(heap{mapped: 10 << 20, idle: 5 << 20})[0].left, "idle memory is used again")
}
