package amx

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestStartBytes: the start values of the sums are -128 times the sum of the row, whether one call computes all rows or
// several calls do, and nothing is written past them.
func TestStartBytes(t *testing.T) {
	needed(t)
	r := rand.New(rand.NewPCG(11, 12))
	for _, s := range []struct{ rows, groups int }{{1, 1}, {5, 16}, {16, 3}, {17, 32}, {49, 48}, {333, 64}, {1025, 1024}, {2100, 1024}, {33, 1 << 16}} {
		row := BytesRow(s.groups)
		a, start := make([]int8, (s.rows+height)*row), make([]int32, (s.rows+height)*StartRow/word)
		for i := range s.rows + height {
			for k := range 4 * s.groups {
				a[i*row+k] = int8(r.IntN(256) - 128)
			}
		}
		StartBytes(&Bytes{A: unsafe.Pointer(&a[0]), Start: unsafe.Pointer(&start[0]), Rows: s.rows, Groups: s.groups, ARow: row})
		require.Equal(t, make([]int32, height*StartRow/word), start[s.rows*StartRow/word:])
		for i := range s.rows {
			want := int32(0)
			for _, x := range a[i*row:][:4*s.groups] {
				want -= 128 * int32(x)
			}
			for _, got := range start[i*StartRow/word:][:StartRow/word] {
				require.Equal(t, want, got, "%d rows of %d groups, row %d", s.rows, s.groups, i)
			}
		}
	}
}

// TestMultiplyBytes draws products: rows and columns that are not whole tiles, sums that are not whole steps, gaps
// between rows. What lies between the rows of C and after them stays as it was.
func TestMultiplyBytes(t *testing.T) {
	needed(t)
	r := rand.New(rand.NewPCG(13, 14))
	forms := map[bytesForm]bool{}
	for try := range 150 {
		p := Bytes{Rows: 1 + r.IntN(70), Cols: 1 + r.IntN(200), Groups: 1 + r.IntN(50)}
		p.ARow = BytesRow(p.Groups) + 64*r.IntN(2)
		p.CRow = p.Cols + r.IntN(20)
		panels := (p.Cols + PanelColumns - 1) / PanelColumns
		a, b := make([]byte, p.Rows*p.ARow), make([]byte, panels*p.Groups*bytesRow)
		start, c := make([]int32, p.Rows*StartRow/word), make([]int32, (p.Rows+1)*p.CRow)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		for i := range c {
			c[i] = int32(r.Uint32())
		}
		want := append([]int32{}, c...)
		for i := range p.Rows {
			row := a[i*p.ARow:]
			for k := range 4 * p.Groups {
				row[k] = byte(r.Uint32())
			}
			for j := range p.Cols {
				sum := int32(i)
				for k := range 4 * p.Groups {
					at := (j/PanelColumns*p.Groups+k/4)*bytesRow + j%PanelColumns*4 + k%4
					sum += int32(int8(row[k])) * int32(b[at])
				}
				want[i*p.CRow+j] = sum
			}
			for k := range StartRow / word {
				start[i*StartRow/word+k] = int32(i)
			}
			PadRow(row, p.Groups)
		}
		p.A, p.B, p.C, p.Start = unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), unsafe.Pointer(&c[0]), unsafe.Pointer(&start[0])
		MultiplyBytes(&p)
		require.Equal(t, want, c, "product %d: %+v", try, p)
		rest := p.Cols % PanelColumns
		for _, columns := range []int{1, 2, 4} {
			if p.Cols >= PanelColumns && columns == 4 || rest > 0 && rest <= columns*Words && rest > columns/2*Words {
				forms[bytesForm{p.Rows > height, columns}] = true
			}
		}
	}
	require.Len(t, forms, 6, "kinds of rows and columns that were drawn")
}
