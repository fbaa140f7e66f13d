package main

// families lists the kernels, all rows of a family together.
func families() [][]kernel {
	var all [][]kernel
	for _, double := range []bool{false, true} {
		for _, wide := range []bool{false, true} {
			for _, channels := range []bool{false, true} {
				for _, vectors := range []int{1, 2, wholePanel} {
					if vectors == wholePanel && (wide || channels) {
						continue
					}
					if double && wide && channels && vectors == 1 {
						continue // two vectors of AVX2 hold as many numbers, and are as fast
					}
					var family []kernel
					for rows := 1; rows <= maxRows(wide, channels, vectors); rows++ {
						family = append(family, kernel{wide: wide, double: double, channels: channels, vectors: vectors, rows: rows})
					}
					all = append(all, family)
				}
			}
		}
	}
	for _, vectors := range []int{1, 2} {
		var family []kernel
		for rows := 1; rows <= maxRows(true, false, vectors); rows++ {
			family = append(family, kernel{wide: true, halves: true, vectors: vectors, rows: rows})
		}
		all = append(all, family)
	}
	return all
}

// wholePanel is the number of AVX2 vectors in a row of a panel. Three such rows use as many registers as six rows of
// two vectors, and as many sums as multiply-adds can be in flight.
const wholePanel = 4

// maxRows is limited by the registers, 16 with AVX2 and 32 with AVX-512: a tile needs one per vector, B's vectors, and
// one or two more. Depthwise kernels need two loads per product and gain nothing from more rows.
func maxRows(wide, channels bool, vectors int) int {
	switch {
	case channels:
		return 4
	case wide:
		return 14
	case vectors == 1:
		return 12
	case vectors == wholePanel:
		return 3
	}
	return 6
}
