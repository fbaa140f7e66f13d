package tpu

// ring orders the chips of a mesh so that each is next to the previous one, and the last is next to the first. If axes
// have odd lengths, there is no such order, and the chips follow row by row.
func ring(x, y, z int) [][3]int {
	odd := func(n int) bool { return n > 1 && n%2 != 0 }
	var all [][3]int
	switch {
	case x == 1 && y == 1, x == 1 && z == 1, y == 1 && z == 1, odd(x), odd(y), odd(z):
		for k := range z {
			for j := range y {
				for i := range x {
					all = append(all, [3]int{i, j, k})
				}
			}
		}
		return all
	case z == 1:
		return append([][3]int{{}}, open(x, y, func(i, j int) [3]int { return [3]int{i, j, 0} })...)
	case y == 1:
		return append([][3]int{{}}, open(x, z, func(i, j int) [3]int { return [3]int{i, 0, j} })...)
	case x == 1:
		return append([][3]int{{}}, open(y, z, func(i, j int) [3]int { return [3]int{0, i, j} })...)
	}
	// The planes are traversed alternately forwards and backwards; the corner that is left out in each plane leads
	// back.
	all = append(all, [3]int{})
	for k := range z {
		plane := open(x, y, func(i, j int) [3]int { return [3]int{i, j, k} })
		for n := range plane {
			if k%2 == 0 {
				all = append(all, plane[n])
			} else {
				all = append(all, plane[len(plane)-1-n])
			}
		}
	}
	for k := z - 1; k > 0; k-- {
		all = append(all, [3]int{0, 0, k})
	}
	return all
}

// open returns a ring through a plane of even lengths, without its corner (0, 0): back and forth along the rows, except
// for the first column, which leads back.
func open(width, height int, at func(i, j int) [3]int) [][3]int {
	var all [][3]int
	for j := 0; j < height; j += 2 {
		for i := 1; i < width; i++ {
			all = append(all, at(i, j))
		}
		for i := width - 1; i > 0; i-- {
			all = append(all, at(i, j+1))
		}
	}
	for j := height - 1; j > 0; j-- {
		all = append(all, at(0, j))
	}
	return all
}
