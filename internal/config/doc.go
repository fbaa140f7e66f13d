// Package config converts between Go structs and the configuration objects of Keras: what get_config returns and
// from_config takes.
//
// The exported fields of a struct are its configuration. A tag names the key of each:
//
//	Units   int   `keras:"units"`
//	NoBias  bool  `keras:"use_bias,not"`                     // stored inverted
//	Pool    []int `keras:"pool_size,length=2,default=2"`     // written as a list of two; a single number stands for all
//	Kernel  any   `keras:"kernel_initializer,default=GlorotUniform"`
//
// Options of a tag, separated by commas; default comes last because its value may contain commas:
//
//	not          the bool is stored inverted
//	omitempty    the key is omitted if the field has its zero value
//	shape        a list of axis lengths, with null for -1 (an open axis)
//	scalar       a list of one is written as a number
//	plain        a dtype is written as a bare string and not as a policy object
//	length=N     a list of one is written N times
//	null         null is read as the zero value, see below
//	required     the key must be present
//	attribute    no configuration: the key is the attribute of the Python object that holds the field's layers
//	default=V    what is written if the field has its zero value: JSON, or else a plain string
//
// A field without the tag is not configuration, except that the fields of embedded structs count as the struct's own.
//
// # Null
//
// Null is None in Python, and differs from a missing key. If the zero value of a field stands for a number, a word or a
// default, null is an error, unless Keras gives null the same meaning as the zero value: then the tag says null, or
// default=null. For a bool null means false, for an activation none, for an object without a default no object, and for
// an initializer the one that Keras uses if a layer names none.
//
// # Names and objects
//
// A field of an interface type holds a name or a value (an initializer, an activation, a layer). The end of its key
// determines the kind: "kernel_initializer" is of the kind registered as "initializer". The package of a kind registers
// how a name or an [Object] becomes a value with [RegisterKind].
//
// # Hooks
//
// IgnoredConfig() []string lists keys that Keras writes and the type does not need. "key=null" accepts the key only
// without a value, for features that would change results. MigrateConfig(map[string]json.RawMessage) error may rewrite
// the keys of older versions before they are read; AmendConfig(map[string]any) error may change what is written.
// ConfigClassName() string replaces the Go type name as class name. ConfigObject() (map[string]any, error) returns the
// whole object, for values that files do not describe by their fields.
package config
