package ptx

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Entry is one kernel of a module, as a separate module.
type Entry struct {
	Name  string // name in the original module
	Alone string // name in its own module
	Text  string
}

const entry = ".visible .entry "

// Split splits a module into its kernels. A kernel's name in its own module depends only on its text, so equal kernels
// of different modules give equal modules.
func Split(text string) []Entry {
	head, rest, found := strings.Cut(text, entry)
	var all []Entry
	for found {
		var own string
		own, rest, found = strings.Cut(rest, entry)
		name, body, _ := strings.Cut(own, "(")
		sum := sha256.Sum256([]byte(head + body))
		alone := "kernel_" + hex.EncodeToString(sum[:6])
		all = append(all, Entry{Name: name, Alone: alone, Text: head + entry + alone + "(" + body})
	}
	return all
}
