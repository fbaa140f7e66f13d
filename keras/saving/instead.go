package saving

import (
	"fmt"
	"slices"
	"strings"
)

// instead says what the file has in place of the first of these objects that it lacks, or returns "" if it has all of
// them. Attributes of Python classes often have other names than the fields of the Go type; with the list of existing
// names, users need not look into the file.
func instead(source Source, paths []string) string {
	all, err := source.Datasets()
	if err != nil {
		return ""
	}
	for _, path := range paths {
		parts := strings.Split(path, "/")
		for n := range parts {
			if len(under(all, parts[:n+1])) > 0 {
				continue
			}
			siblings := under(all, parts[:n])
			if len(siblings) == 0 {
				break
			}
			place := "at its root"
			if n > 0 {
				place = "in " + strings.Join(parts[:n], "/")
			}
			hint := ""
			if n > 1 {
				hint = "; the method MemberAttributes of a layer of your own says what Python calls its parts, and without it they are called as the exported fields in snake case, or as tags such as `keras:\"name,attribute\"` say"
			}
			return fmt.Sprintf("; the file has no %q %s, but %q%s", parts[n], place, siblings, hint)
		}
	}
	return ""
}

// under lists the names of the datasets below a path, in alphabetical order.
func under(datasets, parts []string) []string {
	prefix := ""
	if len(parts) > 0 {
		prefix = strings.Join(parts, "/") + "/"
	}
	var names []string
	for _, d := range datasets {
		if rest, ok := strings.CutPrefix(d, prefix); ok {
			name, _, _ := strings.Cut(rest, "/")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
