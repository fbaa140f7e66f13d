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
	if err == nil {
		return nil
	}
	room, _, _ := strings.Cut(prefix, ": ")
	room += ": "
	text := strings.ReplaceAll(": "+err.Error(), ": "+room, ": ")
	return &prefixed{prefix + text[len(": "):], err}
}
