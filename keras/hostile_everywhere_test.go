package keras_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"testing"
	"time"
)

var hostileEverywhere = flag.Bool("hostile-everywhere", false, "in TestHostileValuesEverywhere: all values, for a quarter of an hour")

// Each key of each class that Keras described, once, with each hostile value: everything that FuzzConfigValues draws
// from. By default every seventeenth pair is tried.
func TestHostileValuesEverywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("tries some thousand models: not with -short")
	}
	seen, tried := map[string]bool{}, 0
	for _, d := range hostileDocuments(t) {
		for _, at := range d.places {
			name := placeName(d.value, at)
			if seen[name] {
				continue
			}
			seen[name] = true
			for i, value := range hostileValues {
				if (len(seen)+i)%17 != 0 && !*hostileEverywhere {
					continue
				}
				tried++
				text, err := json.Marshal(replaced(d.value, at, value))
				if err != nil {
					continue
				}
				if failure := tryDocument(text, 3*time.Minute); failure != "" {
					t.Errorf("%s: %s: value %d: %s\n%s", d.name, name, i, failure, text)
				}
			}
		}
	}
	t.Logf("%d models, %d keys", tried, len(seen))
}

// placeName describes a place by the class around it and the keys below.
func placeName(v any, at valuePlace) string {
	name := ""
	for _, key := range at {
		if m, ok := v.(map[string]any); ok {
			if class, ok := m["class_name"].(string); ok {
				name = class
			}
			v = m[fmt.Sprint(key)]
		} else if list, ok := v.([]any); ok {
			v = list[key.(int)]
			key = "*"
		}
		name += fmt.Sprint(".", key)
	}
	return name
}
