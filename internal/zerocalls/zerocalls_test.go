// Package zerocalls_test calls every exported function as a mistaken user might: with nil, with zero values, with -1.
package zerocalls_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	_ "github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/layers"
)

// excepted have no error to return: nil is a mistake of the program.
var excepted = regexp.MustCompile(`^(distribute\.(ExperimentalLocalResults|LocalResultsOf|ReplicaOf|SplitOverWorkers|StrategyOf|ToVariable)|distribute/partitioners\.Of|(losses|metrics)\.RegisterFunc|layers\.Register(Lambda|Standardize|Split))$`)

// TestZeroCalls: what returns an error does not panic, and the panics of other functions say what was wrong.
func TestZeroCalls(t *testing.T) {
	calls := map[string]reflect.Value{}
	for name, f := range functions {
		calls[name] = reflect.ValueOf(f)
	}
	for name, typ := range structs {
		if l, ok := reflect.New(typ).Interface().(layers.Layer); ok && name != "keras.Model" { // other methods of zero values are called by a step, which has made them ready
			calls[name+" invoked"] = reflect.ValueOf(func(c *layers.Context, in ...*ops.Tensor) *ops.Tensor { return layers.Invoke(l, c, in...) })
			calls[name+" as a layer of a model"] = reflect.ValueOf(func() error { return stacked(l) })
		}
	}
	require.Greater(t, len(calls), 1000)
	t.Chdir(t.TempDir()) // for files called "x"
	seen := 0
	for name, f := range calls {
		if excepted.MatchString(name) {
			continue
		}
		seen++
		for how, argument := range arguments {
			failed := make(chan string, 1)
			go func() { failed <- call(f, argument) }()
			select {
			case message := <-failed:
				if message != "" {
					t.Errorf("%s of %s: %s", name, how, message)
				}
			case <-time.After(5 * time.Minute):
				t.Fatalf("%s of %s does not return", name, how)
			}
		}
	}
	t.Log(seen, "functions and methods")
}

// stacked builds a model of the layer as it is, and predicts with it.
func stacked(l layers.Layer) error {
	m, err := keras.NewSequential([]layers.Layer{l}, keras.InputShape(4))
	if err != nil {
		return err
	}
	_, err = m.PredictOnBatch(context.Background(), data.Arrays(data.Must(data.ArrayOf(make([]float32, 8), 2, 4)), nil))
	return err
}

// arguments make the arguments of a call, by their type.
var arguments = map[string]func(reflect.Type) reflect.Value{
	"zero values": reflect.Zero,
	"empty things and -1": func(t reflect.Type) reflect.Value {
		v := reflect.New(t).Elem()
		switch t.Kind() {
		case reflect.Pointer:
			if !opaque(t.Elem()) {
				v.Set(reflect.New(t.Elem()))
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(t, 1, 1))
		case reflect.Map:
			v.Set(reflect.MakeMap(t))
		case reflect.Int, reflect.Int64, reflect.Int32:
			v.SetInt(-1)
		case reflect.String:
			v.SetString("x")
		}
		return v
	},
}

// call returns what is wrong with a panic of f, or "".
func call(f reflect.Value, argument func(reflect.Type) reflect.Value) (wrong string) {
	t := f.Type()
	var in []reflect.Value
	for i := range t.NumIn() {
		typ := t.In(i)
		switch {
		case typ == reflect.TypeFor[context.Context]():
			in = append(in, reflect.ValueOf(context.Background()))
		case t.IsVariadic() && i == t.NumIn()-1:
			in = append(in, reflect.Zero(typ.Elem())) // one option, nil
		default:
			in = append(in, argument(typ))
		}
	}
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		err, _ := r.(error)
		var clear *ops.Error
		if returnsError := t.NumOut() > 0 && t.Out(t.NumOut()-1) == reflect.TypeFor[error](); returnsError || !errors.As(err, &clear) {
			_, from, _ := strings.Cut(string(debug.Stack()), "panic.go")
			wrong = strings.TrimSpace(strings.Join([]string{reflect.TypeOf(r).String(), reflect.ValueOf(r).String(), from}, " "))
			if err != nil {
				wrong = err.Error() + "\n" + from
			}
		}
	}()
	f.Call(in)
	return ""
}

func opaque(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			return false
		}
	}
	return true
}

// TestCallsAreThoseOfTheAPI fails when the list of calls is not that of docs/api.txt any more.
func TestCallsAreThoseOfTheAPI(t *testing.T) {
	text, err := os.ReadFile("../../docs/api.txt")
	require.NoError(t, err)
	for name := range functions {
		path, f, _ := strings.Cut(name, ".")
		require.Contains(t, string(text), path+": func "+f, "%s is gone; make api", name)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if m := regexp.MustCompile(`^(keras|layers|data|losses|metrics|optimizers|callbacks|distribute): func (\w+)\(`).FindStringSubmatch(line); m != nil && m[2] != "Register" {
			require.Contains(t, functions, m[1]+"."+m[2], "new, and not called here; make api")
		}
	}
}
