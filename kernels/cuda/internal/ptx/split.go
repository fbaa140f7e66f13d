package ptx

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Entry is a kernel of a module as a module of its own.
type Entry struct {
	Name  string // in the module that it was part of
	Alone string // in its own
	Text  string
}

const entry = ".visible .entry "

// Split splits a module into its kernels. The name of a kernel in its own module depends only on its text, so that
// kernels with the same text in several modules have the same module.
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
