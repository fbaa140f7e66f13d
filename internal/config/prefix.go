package config

import "strings"

// prefixed is an error preceded by the name of a package.
type prefixed struct {
	text string
	err  error
}

// Error returns the message, which names the package once.
func (p *prefixed) Error() string { return p.text }

// Unwrap returns the error without the prefix.
func (p *prefixed) Unwrap() error { return p.err }

// Prefixed returns err with a prefix that begins with the name of a package: "layers: " or "keras: Save: ". If err
// contains that name already, as the error of a layer inside another one does, it is removed there. A nil error stays
// nil.
func Prefixed(prefix string, err error) error {
	room, _, _ := strings.Cut(prefix, ": ")
	return PrefixedOnce(prefix, err, room+": ")
}

// PrefixedOnce is Prefixed for errors that cross several packages: each of the given parts, "layers: " or "Adapt: ", is
// removed from err, because the prefix says it already.
func PrefixedOnce(prefix string, err error, without ...string) error {
	if err == nil {
		return nil
	}
	text := ": " + err.Error()
	for _, part := range without {
		text = strings.ReplaceAll(text, ": "+part, ": ")
	}
	return &prefixed{prefix + text[len(": "):], err}
}
