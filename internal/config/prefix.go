package config

import "strings"

// prefixed is an error with the name of a package before it.
type prefixed struct {
	text string
	err  error
}

// Error returns the message, which names the package once.
func (p *prefixed) Error() string { return p.text }

// Unwrap returns the error without the prefix.
func (p *prefixed) Unwrap() error { return p.err }

// Prefixed is err with a prefix that begins with the name of a package: "layers: " or "keras: Save: ". Where err has
// that name itself, as that of a layer inside another has, it is left out there. No error stays none.
func Prefixed(prefix string, err error) error {
	room, _, _ := strings.Cut(prefix, ": ")
	return PrefixedOnce(prefix, err, room+": ")
}

// PrefixedOnce is Prefixed for what crosses several packages: each of the given parts, "layers: " or "Adapt: ", is left
// out of err, since the prefix says it all.
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
