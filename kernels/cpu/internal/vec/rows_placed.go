package vec

import "fmt"

// rowWork says what is done to a row.
type rowWork int

const (
	addRow rowWork = iota
	copyRow
	descendRow
)

// rowNumber is the type of row numbers.
type rowNumber interface{ int32 | int64 }

// AddPlacedRows adds row i of list to row places[i] of the table, one after the other. Rows have c elements. If ahead
// is set, it prefetches rows of the table; use that for a table that exceeds the caches. It panics if a row is outside
// the table.
func AddPlacedRows[P rowNumber](table, list []float32, c int, places []P, ahead bool) {
	placedRows(addRow, table, list, c, places, 0, ahead)
}

// TakePlacedRows copies row places[i] of the table to row i of list; see AddPlacedRows.
func TakePlacedRows[P rowNumber](list, table []float32, c int, places []P, ahead bool) {
	placedRows(copyRow, table, list, c, places, 0, ahead)
}

// DescendPlacedRows subtracts rate times row i of list from row places[i] of the table; see AddPlacedRows and
// DescendRowsAt.
func DescendPlacedRows[P rowNumber](table, list []float32, c int, places []P, rate float32, ahead bool) {
	placedRows(descendRow, table, list, c, places, rate, ahead)
}

func placedRows[P rowNumber](what rowWork, table, list []float32, c int, places []P, rate float32, ahead bool) {
	if c <= 0 || len(places) == 0 {
		return
	}
	list = list[:len(places)*c]
	if placedRows32(what, table, list, c, places, rate, ahead) {
		return
	}
	most := uint(len(table) / c)
	for i, p := range places {
		if uint(p) >= most {
			panicPlace(int(p), int(most))
		}
		row, other := table[int(p)*c:][:c], list[i*c:][:c]
		switch what {
		case addRow:
			for k, v := range other {
				row[k] += v
			}
		case copyRow:
			copy(other, row)
		default:
			for k, v := range other {
				row[k] -= float32(rate * v)
			}
		}
	}
}

func panicPlace(p, rows int) { panic(fmt.Sprintf("vec: row %d of %d", p, rows)) }
