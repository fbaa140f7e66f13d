package plot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
)

// maxHistory limits the size of a history file: a million values take about 20 MB.
const maxHistory = 64 << 20

// HistoryFile draws the contents of a JSON file as [History] does. The file holds an object of lists of numbers, such
// as Python writes for Keras's history.history, including unquoted NaN and Infinity. For a list of lists (a metric with
// several numbers) the first number of each is drawn.
func HistoryFile(from, path string) error {
	f, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("plot: HistoryFile: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxHistory+1))
	if err != nil {
		return fmt.Errorf("plot: HistoryFile: %w", err)
	}
	if len(raw) > maxHistory {
		return fmt.Errorf("plot: HistoryFile: %q has more than %d MB; expected the values of a training run", from, maxHistory>>20)
	}
	values, err := parseHistory(raw)
	if err != nil {
		return fmt.Errorf("plot: HistoryFile: %q: %w", from, err)
	}
	return drawHistory(values, nil, path)
}

// parseHistory reads {"name": [number, ...], ...}.
func parseHistory(raw []byte) (map[string][]float64, error) {
	var lists map[string][]value
	if err := json.Unmarshal(quoteBare(raw), &lists); err != nil {
		return nil, fmt.Errorf("expected a JSON object of lists of numbers: %w", err)
	}
	values := make(map[string][]float64, len(lists))
	for name, list := range lists {
		numbers := make([]float64, len(list))
		for i, v := range list {
			numbers[i] = float64(v)
		}
		values[name] = numbers
	}
	return values, nil
}

// value is a number, null, NaN or Infinity, or a list that begins with one of these.
type value float64

func (v *value) UnmarshalJSON(raw []byte) error {
	var list []value
	var word string
	switch {
	case bytes.Equal(raw, []byte("null")):
		*v = value(math.NaN())
	case len(raw) > 0 && raw[0] == '[':
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		*v = value(math.NaN())
		if len(list) > 0 {
			*v = list[0]
		}
	case json.Unmarshal(raw, &word) == nil:
		switch word {
		case "NaN":
			*v = value(math.NaN())
		case "Infinity":
			*v = value(math.Inf(1))
		case "-Infinity":
			*v = value(math.Inf(-1))
		default:
			return fmt.Errorf("expected a number, received %q", word)
		}
	default:
		return json.Unmarshal(raw, (*float64)(v))
	}
	return nil
}

// quoteBare quotes NaN, Infinity and -Infinity outside of strings.
func quoteBare(raw []byte) []byte {
	if !bytes.Contains(raw, []byte("NaN")) && !bytes.Contains(raw, []byte("Infinity")) {
		return raw
	}
	out := make([]byte, 0, len(raw)+64)
	inString := false
	for i := 0; i < len(raw); {
		c := raw[i]
		if inString {
			if c == '\\' && i+1 < len(raw) {
				out = append(out, c, raw[i+1])
				i += 2
				continue
			}
			inString = c != '"'
			out = append(out, c)
			i++
			continue
		}
		word := bareWord(raw[i:])
		if word != "" {
			out = append(append(append(out, '"'), word...), '"')
			i += len(word)
			continue
		}
		inString = c == '"'
		out = append(out, c)
		i++
	}
	return out
}

func bareWord(at []byte) string {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(at, []byte(word)) {
			return word
		}
	}
	return ""
}
