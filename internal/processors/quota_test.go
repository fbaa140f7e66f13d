package processors

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// system makes files like those of the system: what control group this process is in, quotas, and processes by group,
// of this program or of another.
func system(t *testing.T, group string, files map[string]string) {
	real := root
	root = t.TempDir()
	t.Cleanup(func() { root = real })
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(text), 0o644))
	}
	write("proc/self/cgroup", group)
	require.NoError(t, os.Symlink("/program", filepath.Join(root, "proc/self/exe")))
	for i := range 6 {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "proc", strconv.Itoa(i)), 0o755))
		program := "/program"
		if i == 0 {
			program = "/bin/sh"
		}
		require.NoError(t, os.Symlink(program, filepath.Join(root, "proc", strconv.Itoa(i), "exe")))
	}
	for path, text := range files {
		write("sys/fs/cgroup/"+path, text)
	}
}

// TestShareOfQuota: processes in one container divide its quota; those with containers of their own keep theirs.
func TestShareOfQuota(t *testing.T) {
	t.Setenv(Variable, "")
	on(t, 32)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // what the runtime makes of a quota of eight
	four, alone := "0\n1\n2\n3\n4\n", "0\n3\n"
	for name, c := range map[string]struct {
		group string
		files map[string]string
		want  int // of four processes
	}{
		"one container":      {"0::/\n", map[string]string{"cpu.max": "800000 100000\n", "cgroup.procs": four}, 2},
		"own container":      {"0::/\n", map[string]string{"cpu.max": "800000 100000\n", "cgroup.procs": alone}, 8},
		"more than the job":  {"0::/\n", map[string]string{"cpu.max": "800000 100000\n", "cgroup.procs": four + "5\n"}, 2},
		"two of four":        {"0::/\n", map[string]string{"cpu.max": "800000 100000\n", "cgroup.procs": "1\n4\n"}, 4},
		"no quota":           {"0::/\n", map[string]string{"cpu.max": "max 100000\n", "cgroup.procs": four}, 8},
		"group":              {"0::/a/b\n", map[string]string{"a/b/cpu.max": "800000 100000\n", "a/b/cgroup.procs": four, "a/cpu.max": "max 100000\n"}, 2},
		"group above":        {"0::/a/b\n", map[string]string{"a/b/cpu.max": "max 100000\n", "a/cpu.max": "800000 100000\n", "a/cgroup.procs": four}, 2},
		"groups below":       {"0::/a/b\n", map[string]string{"a/cpu.max": "800000 100000\n", "a/cgroup.procs": "", "a/b/cgroup.procs": alone, "a/c/d/cgroup.procs": "0\n1\n"}, 4},
		"paths of the host":  {"0::/docker/1f\n", map[string]string{"cpu.max": "800000 100000\n", "cgroup.procs": four}, 2},
		"version 1":          {"9:memory:/m\n4:cpu,cpuacct:/c\n", map[string]string{"cpu,cpuacct/c/cpu.cfs_quota_us": "800000\n", "cpu,cpuacct/c/cpu.cfs_period_us": "100000\n", "cpu,cpuacct/c/cgroup.procs": four}, 2},
		"version 1 no quota": {"1:cpu:/\n", map[string]string{"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n", "cpu/cgroup.procs": four}, 8},
		"nonsense":           {"a\n0::\n1:cpu\n", map[string]string{"cpu.max": "many\n", "cgroup.procs": "x\n"}, 8},
		"nothing":            {"", nil, 8},
	} {
		t.Run(name, func(t *testing.T) {
			system(t, c.group, c.files)
			defer Share(4)()
			require.Equal(t, c.want, Count())
		})
	}
	system(t, "0::/\n", map[string]string{"cpu.max": "200000 100000\n", "cgroup.procs": four})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	defer Share(4)()
	require.Equal(t, 1, Count(), "at least one")
}
