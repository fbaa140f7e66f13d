package zerocalls_test

import (
	"flag"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

var nilSeed = flag.Uint64("nil-seed", 1, "of TestNilArguments")

// TestNilArguments calls every exported function with one argument nil that may be, and random ones beside it: what
// comes before it in a list of zero values no longer hides that nobody looks at it.
func TestNilArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if excepted.MatchString(name) || elsewhere.MatchString(name) || preparedOnly.MatchString(name) {
			continue
		}
		f := reflect.ValueOf(functions[name])
		for i := range f.Type().NumIn() {
			switch f.Type().In(i).Kind() {
			case reflect.Func, reflect.Interface, reflect.Pointer, reflect.Map:
			default:
				continue
			}
			for round := range 3 {
				d := newDrawn(rand.New(rand.NewPCG(*nilSeed+uint64(round), uint64(len(name))<<32+uint64(i))))
				var tried string
				ended := make(chan string, 1)
				go func() {
					in, text := d.arguments(f.Type())
					in[i] = reflect.Zero(f.Type().In(i))
					tried = text
					_, wrong := outputOf(f, in)
					ended <- wrong
				}()
				select {
				case wrong := <-ended:
					if wrong != "" {
						t.Errorf("%s, argument %d is nil: %s\n%s", name, i, wrong, tried)
					}
				case <-time.After(5 * time.Minute):
					t.Fatalf("%s, argument %d is nil, does not return: %s", name, i, tried)
				}
			}
		}
	}
}
