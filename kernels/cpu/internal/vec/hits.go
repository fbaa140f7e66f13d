package vec

// HitsCount adds to acc, for each of count rows of x, 1 where the row equals top. Rows are as long as top, and step
// elements apart.
func HitsCount(acc, x, top []float32, count, step int) {
	c := len(top)
	if count <= 0 || c == 0 {
		return
	}
	acc, x = acc[:c], x[:pixels(count, c, step)]
	done := hitsCount(acc, x, top, count, step)
	for i := 0; i < count && done < c; i++ {
		for k, v := range x[i*step+done:][:c-done] {
			if v == top[done+k] {
				acc[done+k]++
			}
		}
	}
}

// HitsShare stores share in the rows of dst where those of x equal top, and 0 times share elsewhere. The rows of both
// are step elements apart.
func HitsShare(dst, x, top, share []float32, count, step int) {
	c := len(top)
	if count <= 0 || c == 0 {
		return
	}
	n := pixels(count, c, step)
	dst, x, share = dst[:n], x[:n], share[:c]
	if hitsShare(dst, x, top, share, count, step) {
		return
	}
	for i := range count {
		d := dst[i*step:][:c]
		for k, v := range x[i*step:][:c] {
			hit := float32(0)
			if v == top[k] {
				hit = 1
			}
			d[k] = hit * share[k]
		}
	}
}
