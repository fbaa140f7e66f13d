// Command tidy fills the lines of comments and of Markdown to the width that the project keeps:
//
//	go run ./internal/tidy            prints the files that it would change
//	go run ./internal/tidy -w FILES   changes them; all files of the repository by default
//
// Only paragraphs with a line that is too long are filled. Code, tables, headings and directives stay as they are. Its
// tests hold the width, the length of functions and files, and the files that the documentation names.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	write := flag.Bool("w", false, "write the files")
	flag.Parse()
	if err := run(*write, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(write bool, names []string) (err error) {
	if len(names) == 0 {
		if names, err = tracked("."); err != nil {
			return err
		}
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		filled := fill(name, string(text))
		if filled == string(text) {
			continue
		}
		fmt.Println(name)
		if !write {
			continue
		}
		if err := os.WriteFile(name, []byte(filled), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// fill returns the text of a file with its prose filled.
func fill(name, text string) string {
	switch {
	case strings.HasSuffix(name, ".go"):
		if generated(text) {
			return text
		}
		return fillComments(text)
	case strings.HasSuffix(name, "docs/keras.md") || strings.HasSuffix(name, "docs/operations.md"): // programs write them
	case strings.HasSuffix(name, ".md"):
		return fillMarkdown(text)
	}
	return text
}
