package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// field is one configuration field of a struct.
type field struct {
	key        string
	index      []int
	name       string // of the Go field
	not        bool
	omitEmpty  bool
	shape      bool
	scalar     bool
	plain      bool
	null       bool
	required   bool
	length     int
	hasDefault bool
	def        string
}

var fieldCache sync.Map // reflect.Type -> []field

// fieldsOf returns the configuration fields of a struct type in order of declaration.
func fieldsOf(t reflect.Type) []field {
	if cached, ok := fieldCache.Load(t); ok {
		return cached.([]field)
	}
	fields := collectFields(t, nil)
	fieldCache.Store(t, fields)
	return fields
}

// HasKey reports whether a struct, or what a pointer points to, has a field for a key of the configuration.
func HasKey(v any, key string) bool {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	for _, f := range fieldsOf(t) {
		if f.key == key {
			return true
		}
	}
	return false
}

func collectFields(t reflect.Type, path []int) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int{}, path...), i)
		tag, tagged := f.Tag.Lookup("keras")
		switch {
		case f.Anonymous && !tagged && f.Type.Kind() == reflect.Struct:
			out = append(out, collectFields(f.Type, index)...)
		case tagged && f.IsExported() && !Outside(tag):
			out = append(out, parseTag(f.Name, tag, index))
		}
	}
	return out
}

// Outside reports whether a tag says that its field is not part of the configuration: "-", as in encoding/json, or the
// option "attribute" after Python's name for the layers in the field.
func Outside(tag string) bool { return tag == "-" || strings.HasSuffix(tag, ",attribute") }

// parseTag panics on an invalid tag, because tags are part of the program, not input.
func parseTag(name, tag string, index []int) field {
	tag, def, hasDefault := strings.Cut(tag, ",default=")
	parts := strings.Split(tag, ",")
	f := field{key: parts[0], index: index, name: name, hasDefault: hasDefault, def: def}
	for _, option := range parts[1:] {
		switch n, isLength := strings.CutPrefix(option, "length="); {
		case isLength:
			length, err := strconv.Atoi(n)
			if err != nil {
				panic(fmt.Sprintf("config: field %s: tag option %q: %v", name, option, err))
			}
			f.length = length
		case option == "not":
			f.not = true
		case option == "omitempty":
			f.omitEmpty = true
		case option == "shape":
			f.shape = true
		case option == "scalar":
			f.scalar = true
		case option == "plain":
			f.plain = true
		case option == "null":
			f.null = true
		case option == "required":
			f.required = true
		default:
			panic(fmt.Sprintf("config: field %s: unknown tag option %q", name, option))
		}
	}
	return f
}
