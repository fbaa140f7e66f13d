package keras_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/gokeras/gokeras/keras"
)

// element is a part of a value's path, which may repeat for nested lists.
var element = regexp.MustCompile(`^element \d+$`)

var packagePrefix = regexp.MustCompile(`(?:^|[ :])(keras|layers|losses|metrics|optimizers|initializers|regularizers|constraints|activations|schedules|config|ops|saving|data|distribute|quantizers): `)

// repeatedPrefix returns the package that a message names twice, or the words that it repeats immediately; "" if there
// are none.
func repeatedPrefix(message string) string {
	seen, parts := map[string]bool{}, strings.Split(message, ": ")
	for i := range len(parts) - 1 {
		if parts[i] == parts[i+1] && !element.MatchString(parts[i]) {
			return parts[i]
		}
	}
	for _, found := range packagePrefix.FindAllStringSubmatch(message, -1) {
		if seen[found[1]] {
			return found[1]
		}
		seen[found[1]] = true
	}
	return ""
}

// TestErrorsNameAPackageOnce: the messages about invalid values, in layers, models and other things at any depth, begin
// with a package name, and contain it only once.
func TestErrorsNameAPackageOnce(t *testing.T) {
	seen, failures := map[string]bool{}, 0
	layer := func(class string, inner any) map[string]any {
		return map[string]any{"module": "keras.layers", "class_name": class, "config": map[string]any{"name": "around", "layer": inner}}
	}
	for _, d := range hostileDocuments(t) {
		for _, at := range d.places {
			name := placeName(d.value, at)
			if seen[name] {
				continue
			}
			seen[name] = true
			for i, value := range hostileValues {
				if (len(seen)+i)%397 != 0 && testing.Short() || (len(seen)+i)%7 != 0 {
					continue
				}
				bad := replaced(d.value, at, value)
				for _, document := range []any{bad, sequentialDocument([]any{nil, 2, 3}, layer("TimeDistributed", layer("Bidirectional", bad)))} {
					text, err := json.Marshal(document)
					if err != nil || len(text) > 4000 {
						continue
					}
					_, err = keras.ModelFromJSON(text)
					if again := repeatedPrefix(fmt.Sprint(err)); again != "" && failures < 20 {
						failures++
						t.Errorf("%s twice: %.300v", again, err)
					}
				}
			}
		}
	}
}
