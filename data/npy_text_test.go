package data_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// TestNPYText reads what numpy.save writes for np.array([["a", "é"], ["日本", ""]]) as U2 of either byte order, for its
// UTF-8 as S6, and for its transpose, which is stored in Fortran's order.
func TestNPYText(t *testing.T) {
	u2 := "a\x00\x00\x00\x00\x00\x00\x00\xe9\x00\x00\x00\x00\x00\x00\x00\xe5\x65\x00\x00\x2c\x67\x00\x00" + strings.Repeat("\x00", 8)
	big := "\x00\x00\x00a\x00\x00\x00\x00\x00\x00\x00\xe9\x00\x00\x00\x00\x00\x00\x65\xe5\x00\x00\x67\x2c" + strings.Repeat("\x00", 8)
	s6 := "a\x00\x00\x00\x00\x00" + "é\x00\x00\x00\x00" + "日本" + "\x00\x00\x00\x00\x00\x00"
	want := []string{"a", "é", "日本", ""}
	for name, c := range map[string]struct {
		header, payload string
		want            []string
	}{
		"little":  {"{'descr': '<U2', 'fortran_order': False, 'shape': (2, 2), }", u2, want},
		"big":     {"{'descr': '>U2', 'fortran_order': False, 'shape': (2, 2), }", big, want},
		"bytes":   {"{'descr': '|S6', 'fortran_order': False, 'shape': (2, 2), }", s6, want},
		"fortran": {"{'descr': '|S6', 'fortran_order': True, 'shape': (2, 2), }", s6, []string{"a", "日本", "é", ""}},
		"beyond":  {"{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }", "\xff\xff\xff\xff", []string{"\ufffd"}},
	} {
		d, err := data.ReadNPY(bytes.NewReader(npy(1, c.header, c.payload)))
		require.NoError(t, err, name)
		values, shape, err := data.Strings(d)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, values, name)
		if len(c.want) == 4 {
			assert.Equal(t, []int{2, 2}, shape)
		}
	}
	for descr, want := range map[string]string{"|S0": "no type of strings", "<Ux": "no type of strings", "<U999999999": "too large for memory"} {
		_, err := data.ReadNPY(bytes.NewReader(npy(1, "{'descr': '"+descr+"', 'fortran_order': False, 'shape': (2, 1000000000), }", "")))
		assert.ErrorContains(t, err, want)
	}
}
