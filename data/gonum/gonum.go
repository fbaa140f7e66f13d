// Package gonum converts matrices and vectors of gonum.org/v1/gonum/mat to arrays and back. Programs that do not import
// it do not link gonum's matrices.
package gonum

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/gokeras/gokeras/data"
)

// FromMatrix returns a matrix as a float64 array of shape (rows, columns), or a vector as (length). The array shares
// the memory of a dense matrix without gaps between its rows; any other matrix is copied.
func FromMatrix(m mat.Matrix) (data.Array, error) {
	switch m := m.(type) {
	case nil:
		return data.Array{}, fmt.Errorf("gonum: FromMatrix: the matrix is nil")
	case *mat.Dense:
		if m == nil {
			return data.Array{}, fmt.Errorf("gonum: FromMatrix: the matrix is nil")
		}
	case *mat.VecDense:
		if m == nil {
			return data.Array{}, fmt.Errorf("gonum: FromMatrix: the vector is nil")
		}
	}
	if v, ok := m.(mat.Vector); ok {
		return fromVector(v)
	}
	rows, columns := m.Dims()
	if rows == 0 || columns == 0 {
		return data.Array{}, fmt.Errorf("gonum: FromMatrix: received an empty matrix")
	}
	if raw, ok := m.(mat.RawMatrixer); ok {
		if r := raw.RawMatrix(); r.Stride == columns {
			return data.ArrayOf(r.Data[:rows*columns:rows*columns], rows, columns)
		}
	}
	values := make([]float64, 0, rows*columns)
	for i := range rows {
		for j := range columns {
			values = append(values, m.At(i, j))
		}
	}
	return data.ArrayOf(values, rows, columns)
}

func fromVector(v mat.Vector) (data.Array, error) {
	n := v.Len()
	if n == 0 {
		return data.Array{}, fmt.Errorf("gonum: FromMatrix: received an empty vector")
	}
	if raw, ok := v.(mat.RawVectorer); ok {
		if r := raw.RawVector(); r.Inc == 1 {
			return data.ArrayOf(r.Data[:n:n])
		}
	}
	values := make([]float64, n)
	for i := range values {
		values[i] = v.AtVec(i)
	}
	return data.ArrayOf(values)
}

// ToDense returns an array as a matrix. Axis 0 becomes the rows and the remaining axes, flattened, the columns; a
// vector becomes a column. The matrix shares the memory of a float64 array; other types are converted.
func ToDense(a data.Array) (*mat.Dense, error) {
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("gonum: ToDense: %w", err)
	}
	if a.Len() == 0 || a.Rank() == 0 {
		return nil, fmt.Errorf("gonum: ToDense: received an array of shape %v; expected (rows, ...) with at least one element", a.Shape())
	}
	values, err := data.View[float64](a)
	if err != nil {
		values = a.Float64s()
	}
	rows := a.Shape()[0]
	return mat.NewDense(rows, len(values)/rows, values), nil
}

// ToVector returns the elements of an array, row-major, as a vector. The vector shares the memory of a float64 array;
// other types are converted.
func ToVector(a data.Array) (*mat.VecDense, error) {
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("gonum: ToVector: %w", err)
	}
	if a.Len() == 0 {
		return nil, fmt.Errorf("gonum: ToVector: received an array of shape %v; expected at least one element", a.Shape())
	}
	values, err := data.View[float64](a)
	if err != nil {
		values = a.Float64s()
	}
	return mat.NewVecDense(len(values), values), nil
}
