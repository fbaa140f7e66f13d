package saving

import (
	"slices"
	"strings"

	"github.com/gokeras/gokeras/layers"
)

// wasAlone reports whether earlier versions wrote the only member of a list in place of the list: they did not know
// attribute names that end in "[]".
func wasAlone(l layers.Layer, a layers.Attribute) bool {
	namer, ok := l.(layers.AttributeNamer)
	return ok && len(a.List) == 1 && a.List[0].Layer != nil && slices.Contains(namer.MemberAttributes(), a.Name+"[]")
}

// placed gives objects their paths of earlier versions if the file, whose datasets or members list returns, has
// something of theirs there and nothing below the current paths.
func placed(objects []Object, list func() ([]string, error)) ([]Object, error) {
	if !slices.ContainsFunc(objects, func(o Object) bool { return o.OlderPath != "" }) {
		return objects, nil
	}
	all, err := list()
	if err != nil {
		return nil, err
	}
	out := slices.Clone(objects)
	for i, o := range out {
		if o.OlderPath != "" && len(under(all, strings.Split(o.Path, "/"))) == 0 && ownsAt(all, o.OlderPath) {
			out[i].Path = o.OlderPath
		}
	}
	return out, nil
}

// ownsAt reports whether the object at a path has variables, arrays or files itself, not only in its members.
func ownsAt(all []string, path string) bool {
	return slices.ContainsFunc(all, func(name string) bool {
		rest, ok := strings.CutPrefix(name, path+"/")
		return ok && (strings.HasPrefix(rest, "vars/") || !strings.Contains(rest, "/"))
	})
}
