package saving

import "fmt"

// maxDepth is the maximum nesting depth of lists and objects in a configuration. Each nested model takes four levels.
const maxDepth = 256

// CheckDepth refuses JSON that is nested too deeply: configurations are decoded part by part, which takes time
// proportional to the depth.
func CheckDepth(text []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted:
			switch c {
			case '\\':
				i++
			case '"':
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("JSON is nested more than %d deep; refused", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
