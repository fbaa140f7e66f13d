package snippets

import (
	"fmt"
	"regexp"
	"strings"
)

var quoted = regexp.MustCompile(`'[^']*'|"[^"]*"`)

// Shell are the lines of a block that are commands of this project, by their words, of which quoted ones are "...".
// Programs that the page builds (./name) are let pass; everything else is an error, unless the block is a fragment.
func Shell(b Block) (commands [][]string, err error) {
	if kind, reason, _ := strings.Cut(b.How, " "); kind == "fragment" && reason != "" {
		return nil, nil
	} else if b.How != "" {
		return nil, fmt.Errorf("%v: the comment %q is not for commands; expected \"fragment REASON\"", b, b.How)
	}
	for i, line := range strings.Split(b.Text, "\n") {
		line = quoted.ReplaceAllString(line, "...")
		if at := strings.Index(line, " #"); at >= 0 {
			line = line[:at]
		}
		words := strings.Fields(line)
		if len(words) > 1 && words[0] == "export" {
			words = words[1:]
		}
		for len(words) > 0 && strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-") {
			words = words[1:] // the environment
		}
		if len(words) == 0 || strings.HasPrefix(words[0], "#") || strings.HasPrefix(words[0], "./") {
			continue
		}
		switch words[0] {
		case "keras", "make", "go":
			commands = append(commands, words)
		default:
			return nil, fmt.Errorf("%s:%d: %q is no command that is known here: keras, make or go", b.Page, b.Line+i, words[0])
		}
	}
	return commands, nil
}

// Checker knows the commands of the project.
type Checker struct {
	Targets map[string]bool                      // of make
	Help    func(command string) (string, error) // of keras; "" is that of the program
	Exists  func(path string) bool               // in the module
}

// Check reports a command that does not exist, or has a flag that does not.
func (c Checker) Check(words []string) error {
	switch words[0] {
	case "make":
		for _, w := range words[1:] {
			if !strings.Contains(w, "=") && !c.Targets[w] {
				return fmt.Errorf("make has no target %q", w)
			}
		}
	case "go":
		for _, w := range words[1:] {
			if strings.HasPrefix(w, "./") && !c.Exists(strings.TrimSuffix(w, "/...")) {
				return fmt.Errorf("%s does not exist", w)
			}
			if path, ours := strings.CutPrefix(w, "github.com/gokeras/gokeras"); ours && !c.Exists("./"+strings.Trim(strings.Split(path, "@")[0], "/")) {
				return fmt.Errorf("%s does not exist", w)
			}
		}
	case "keras":
		return c.checkKeras(words[1:])
	}
	return nil
}

func (c Checker) checkKeras(words []string) error {
	command := ""
	if len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		command = words[0]
		list, err := c.Help("")
		if err != nil {
			return err
		}
		if !strings.Contains(list, "\n  "+command+" ") {
			return fmt.Errorf("keras has no command %q", command)
		}
		words = words[1:]
	}
	help, err := c.Help(command)
	if err != nil {
		return err
	}
	for i, w := range words {
		if w == "--" {
			if rest := words[i+1:]; len(rest) > 0 && (rest[0] == "keras" || rest[0] == "go") {
				return c.Check(rest)
			}
			return nil
		}
		flag, _, _ := strings.Cut(w, "=")
		if !strings.HasPrefix(flag, "-") || flag == "-" {
			continue
		}
		if !hasFlag(help, flag) {
			return fmt.Errorf("keras %s has no flag %s", command, flag)
		}
	}
	return nil
}

// hasFlag looks for a flag at the begin of a line of help.
func hasFlag(help, flag string) bool {
	for line := range strings.Lines(help) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "-") {
			continue
		}
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' }) {
			if word == flag {
				return true
			}
			if !strings.HasPrefix(word, "-") {
				break
			}
		}
	}
	return false
}
