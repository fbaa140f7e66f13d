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

// Split takes a module apart. What a kernel is called in its own module follows from its text alone, so that kernels
// with the same text in several modules have the same module.
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
