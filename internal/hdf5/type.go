package hdf5

import "fmt"

// Class is the kind of a [Type].
type Class uint8

// The classes of types.
const (
	ClassUnknown   Class = iota
	ClassInt             // signed integer, two's complement
	ClassUint            // unsigned integer
	ClassFloat           // IEEE 754 binary16, binary32 or binary64
	ClassBfloat16        // the upper 16 bits of a binary32
	ClassBool            // one byte, 0 or 1 (h5py's enumeration FALSE, TRUE)
	ClassString          // text, of fixed or variable length
	ClassOpaque          // bytes without meaning
	ClassEnum            // named integers; Base is the integer type
	ClassCompound        // a record
	ClassArray           // a fixed-size array of Base
	ClassSequence        // a variable-length sequence of Base
	ClassReference       // a reference to an object or a region
	ClassBitfield        // bits
	ClassTime            // time
)

var classNames = [...]string{"unknown", "int", "uint", "float", "bfloat16", "bool", "string", "opaque", "enum", "compound",
	"array", "sequence", "reference", "bitfield", "time"}

// String gives the name of the class.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("Class(%d)", uint8(c))
}

// Type is the type of the elements of a dataset or an attribute. Types compare with ==: a dataset of little-endian
// float32 has Type() == Float32. BigEndian describes the file; data that is read is always little-endian.
type Type struct {
	Class     Class
	Size      int   // bytes of one element in the file
	BigEndian bool  // of integers and floats
	Variable  bool  // a string of variable length; Size is then that of the reference to it
	Base      *Type // of ClassEnum, ClassArray and ClassSequence; else nil

	padding padding // of a fixed string
	odd     string  // why elements cannot be interpreted, or ""
}

// padding says how a fixed string ends.
type padding uint8

const (
	nulPadded     padding = iota // in NULs
	nulTerminated                // at the first NUL
	spacePadded                  // in spaces
)

// The types that can be written, all little-endian.
var (
	Int8     = Type{Class: ClassInt, Size: 1}
	Int16    = Type{Class: ClassInt, Size: 2}
	Int32    = Type{Class: ClassInt, Size: 4}
	Int64    = Type{Class: ClassInt, Size: 8}
	Uint8    = Type{Class: ClassUint, Size: 1}
	Uint16   = Type{Class: ClassUint, Size: 2}
	Uint32   = Type{Class: ClassUint, Size: 4}
	Uint64   = Type{Class: ClassUint, Size: 8}
	Float16  = Type{Class: ClassFloat, Size: 2}
	Float32  = Type{Class: ClassFloat, Size: 4}
	Float64  = Type{Class: ClassFloat, Size: 8}
	Bfloat16 = Type{Class: ClassBfloat16, Size: 2}
	Bool     = Type{Class: ClassBool, Size: 1}
)

// FixedString is the type of strings of exactly size bytes, padded with NUL (NumPy's "S<size>").
func FixedString(size int) Type { return Type{Class: ClassString, Size: size} }

// String gives NumPy's name of the type where there is one, such as "float32"; a big-endian type ends in ",
// big-endian".
func (t Type) String() string {
	name := t.Class.String()
	switch t.Class {
	case ClassInt, ClassUint, ClassFloat, ClassBitfield:
		name = fmt.Sprintf("%s%d", name, 8*t.Size)
	case ClassString, ClassOpaque, ClassCompound:
		if !t.Variable {
			name = fmt.Sprintf("%s[%d]", name, t.Size)
		}
	case ClassEnum, ClassArray, ClassSequence:
		if t.Base != nil {
			name = fmt.Sprintf("%s of %s", name, t.Base)
		}
	}
	if t.BigEndian && t.Size > 1 {
		name += ", big-endian"
	}
	return name
}
