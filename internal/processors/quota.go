package processors

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// root is the folder of the system's files; tests have another one.
var root = "/"

// quotaSharers returns how many of n processes, including this one, share a quota of processors, as in a container. It
// counts the processes under the quota, also in subgroups, that run this program, up to n. It is 1 if there is no
// quota, or if this process has its own.
func quotaSharers(n int) int {
	own, err := os.Readlink(filepath.Join(root, "proc/self/exe"))
	folder := bounded()
	if err != nil || folder == "" {
		return 1
	}
	count := 0
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "cgroup.procs" {
			return nil // what cannot be read counts for nobody
		}
		list, _ := os.ReadFile(path)
		for id := range strings.FieldsSeq(string(list)) {
			if program, err := os.Readlink(filepath.Join(root, "proc", id, "exe")); err == nil && program == own {
				count++
			}
		}
		return nil
	})
	return max(min(count, n), 1)
}

// bounded is the folder of the control group with the smallest quota among those of this process; "": none has a quota.
// Inside a container the paths may be those of the host; then the container's group is the visible root.
func bounded() string {
	text, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return ""
	}
	folder, least := "", 0.0
	for line := range strings.Lines(string(text)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) < 3 {
			continue
		}
		for _, mount := range mountsOf(part[1]) {
			base := filepath.Join(root, "sys/fs/cgroup", mount)
			for path := filepath.Join("/", part[2]); ; path = filepath.Dir(path) {
				if q := quotaOf(filepath.Join(base, path)); q > 0 && (folder == "" || q < least) {
					folder, least = filepath.Join(base, path), q
				}
				if path == "/" {
					break
				}
			}
		}
	}
	return folder
}

// mountsOf lists where the groups of some controllers may be seen, in the field of /proc/self/cgroup, which is empty
// for version 2.
func mountsOf(controllers string) []string {
	if controllers == "" {
		return []string{"", "unified"}
	}
	for c := range strings.SplitSeq(controllers, ",") {
		if c == "cpu" {
			return []string{"cpu", controllers}
		}
	}
	return nil
}

// quotaOf is how many processors a control group may use; 0: all.
func quotaOf(folder string) float64 {
	number := func(text string) float64 {
		x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || x <= 0 { // max, -1
			return 0
		}
		return x
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return ""
		}
		return string(text)
	}
	quota, period, _ := strings.Cut(strings.TrimSpace(read("cpu.max")), " ")
	if quota == "" {
		quota, period = read("cpu.cfs_quota_us"), read("cpu.cfs_period_us")
	}
	if number(period) == 0 {
		return 0
	}
	return number(quota) / number(period)
}
