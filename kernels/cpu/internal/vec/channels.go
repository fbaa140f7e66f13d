package vec

// The functions of this file are those of batch normalization. They take matrices [rows, cols] without gaps whose
// columns are channels. Channels are often few. So several rows together count as one line of whole vectors, of
// Period(cols) numbers, and numbers for each channel come as tiles: repeated over that length ([Repeat]).

const (
	channelsWidth = 64      // columns that one call keeps in registers
	blockWidth    = 512     // columns of wider lines that are summed together
	channelLines  = 128     // most lines of Period(cols) numbers that are summed at a time
	fewLines      = 16      // most lines that do not pay for that
	sampleLines   = 16      // lines whose mean is subtracted before squaring
	channelBlock  = 1 << 13 // numbers of a block of lines, approximately
)

// Period is the length of tiles for cols channels. It is cols itself for more than two vectors, because the last vector
// of a row may overlap the one before it. Otherwise it is a multiple of cols that is whole vectors at every level.
func Period(cols int) int {
	if cols <= 0 {
		return 0
	}
	if cols > 32 && (cols%16 != 0 || cols >= channelsWidth) {
		return cols
	}
	a, b := cols, 16
	for b != 0 {
		a, b = b, a%b
	}
	n := cols / a * 16
	for n < channelsWidth {
		n *= 2
	}
	return n
}

// Repeat fills tile with copies of v.
func Repeat[T any](tile, v []T) {
	for len(tile) > 0 && len(v) > 0 {
		tile = tile[copy(tile, v):]
	}
}

// cut returns the width and number of the lines that a sum over rows goes through.
func cut(rows, cols int) (width, lines int) {
	width = Period(cols)
	if lines = rows * cols / width; lines < fewLines {
		width, lines = cols, rows
	}
	return width, lines
}

// linesOf returns how many lines of a block of columns are in the first-level cache at a time.
func linesOf(width int) int {
	return min(max(channelBlock/min(width, blockWidth), fewLines), channelLines)
}

// Moments stores the mean of each column of x and its sum of squared differences from that mean. It takes differences
// from the mean of a block's first rows, and combines blocks as Chan, Golub and LeVeque do ("Updating formulae and a
// pairwise algorithm for computing sample variances", 1979). So means far from 0 cost no accuracy, and x is read once.
func Moments[T Float](mean, squares []float64, x []T, rows, cols int) {
	MomentsOf(mean, squares, Lines[T]{X: x[:rows*cols]}, rows, cols)
}

// MomentsOf is [Moments] for numbers that may have 16 bits.
func MomentsOf[T Float](mean, squares []float64, x Lines[T], rows, cols int) {
	mean, squares = mean[:cols], squares[:cols]
	clear(mean)
	clear(squares)
	if rows == 0 || cols == 0 {
		return
	}
	width, lines := cut(rows, cols)
	done := 0 // rows
	for line := 0; line < lines; line += channelLines {
		n := min(channelLines, lines-line)
		momentsOf(mean, squares, &x, line*width, done, n, width)
		done += n * (width / cols)
	}
	if done < rows {
		momentsOf(mean, squares, &x, done*cols, done, rows-done, cols)
	}
}

// momentsOf adds lines of the given width, from an element of x on, at most channelLines, to the moments of the done
// rows before them.
func momentsOf[T Float](mean, squares []float64, x *Lines[T], from, done, lines, width int) {
	if width <= channelsWidth {
		var sums [3 * channelsWidth]T
		momentsIn(sums[:width], sums[channelsWidth:][:width], sums[2*channelsWidth:][:width], mean, squares, x, from, done, lines, width)
		return
	}
	var sums [3 * blockWidth]T
	momentsIn(sums[:blockWidth], sums[blockWidth:][:blockWidth], sums[2*blockWidth:], mean, squares, x, from, done, lines, width)
}

func momentsIn[T Float](shift, sum, square []T, mean, squares []float64, x *Lines[T], from, done, lines, width int) {
	step := x.step(lines, width)
	for first := 0; first < width; first += blockWidth {
		n := min(blockWidth, width-first)
		if x.inPlace(n) {
			momentsInPlace(shift[:n], sum[:n], square[:n], x, from+first, lines, width, step)
			mergeLines(mean, squares, shift[:n], sum[:n], square[:n], first, done, lines)
			continue
		}
		for line, sample := 0, min(lines, sampleLines, step); line < lines; line, sample = line+step, 0 {
			k := min(step, lines-line)
			in, stride := x.at(from+line*width+first, n, k, width)
			for c := 0; c < n; c += channelsWidth {
				end := min(c+channelsWidth, n)
				momentsBlock(shift[c:end], sum[c:end], square[c:end], in[c:], sample, k, stride)
			}
		}
		mergeLines(mean, squares, shift[:n], sum[:n], square[:n], first, done, lines)
	}
}

// momentsInPlace sums lines that need not be widened. It sums all of them at once, unless their columns are read block
// by block; then it sums as many as stay in the first-level cache.
func momentsInPlace[T Float](shift, sum, square []T, x *Lines[T], from, lines, width, step int) {
	sample := min(lines, sampleLines, step)
	if width <= channelsWidth {
		step = lines
	}
	for line := 0; line < lines; line, sample = line+step, 0 {
		halfMoments(as32(shift), as32(sum), as32(square), x.Halves[from+line*width:], sample, min(step, lines-line), width)
	}
}

// mergeLines adds sums of lines, of the columns from first on, to the moments of the rows before them.
func mergeLines[T Float](mean, squares []float64, shift, sum, square []T, first, done, lines int) {
	cols := len(mean)
	inverse := 1 / float64(lines)
	for i := 0; i < len(sum); {
		row, c := (first+i)/cols, (first+i)%cols
		k := min(len(sum)-i, cols-c)
		before := done + row*lines
		part := float64(lines) / float64(before+lines)
		weight := float64(before) * part
		m, q := mean[c:c+k], squares[c:c+k]
		for j := range m {
			s := float64(sum[i+j])
			off := s * inverse
			d := float64(shift[i+j]) + off - m[j]
			m[j] += d * part
			q[j] += float64(square[i+j]) - s*off + d*d*weight
		}
		i += k
	}
}

// MergeMoments adds the means and squared differences of more rows to those of the given number of rows.
func MergeMoments(mean, squares []float64, rows int, moreMean, moreSquares []float64, more int) {
	if more == 0 {
		return
	}
	part := float64(more) / float64(rows+more)
	weight := float64(rows) * part
	squares, moreMean, moreSquares = squares[:len(mean)], moreMean[:len(mean)], moreSquares[:len(mean)]
	for i, v := range moreMean {
		d := v - mean[i]
		mean[i] += d * part
		squares[i] += moreSquares[i] + d*d*weight
	}
}

// momentsBlock stores the means of the first sample lines as shifts, and the sums of the differences from them and of
// their squares. If sample is 0, the shifts are given, and it adds to the sums.
func momentsBlock[T Float](shift, sum, squares, x []T, sample, lines, stride int) {
	done := 0
	if single[T]() {
		done = momentRows32(as32(shift), as32(sum), as32(squares), as32(x), sample, lines, stride)
	} else {
		done = momentRows64(as64(shift), as64(sum), as64(squares), as64(x), sample, lines, stride)
	}
	if done == len(sum) {
		return
	}
	shift, sum, squares = shift[done:], sum[done:], squares[done:]
	if sample > 0 {
		clear(shift)
		clear(sum)
		clear(squares)
	}
	for r := range sample {
		for i, v := range x[r*stride+done:][:len(shift)] {
			shift[i] += v
		}
	}
	inverse := 1 / T(max(sample, 1))
	for i := range shift {
		shift[i] *= inverse
	}
	for r := range lines {
		for i, v := range x[r*stride+done:][:len(sum)] {
			d := v - shift[i]
			sum[i] += d
			squares[i] += T(d * d) // rounded, as in vectors of float64
		}
	}
}

// SumProducts stores the two sums of the gradient of batch normalization for each column: sum = Σ dy and product = Σ
// dy·(x − mean). With scale, it only counts dy where x·scale + shift is positive: the gradient of a relu after the
// normalization. mean, scale and shift are tiles.
func SumProducts[T Float](sum, product []float64, dy, x []T, rows, cols int, mean, scale, shift []T) {
	SumProductsOf(sum, product, Lines[T]{X: dy[:rows*cols]}, Lines[T]{X: x[:rows*cols]}, rows, cols, mean, scale, shift)
}

// SumProductsOf is [SumProducts] for numbers that may have 16 bits.
func SumProductsOf[T Float](sum, product []float64, dy, x Lines[T], rows, cols int, mean, scale, shift []T) {
	sum, product = sum[:cols], product[:cols]
	clear(sum)
	clear(product)
	if rows == 0 || cols == 0 {
		return
	}
	width, lines := cut(rows, cols)
	done := 0
	for line := 0; line < lines; line += channelLines {
		n := min(channelLines, lines-line)
		productsOf(sum, product, &dy, &x, line*width, n, width, mean, scale, shift)
		done += n * (width / cols)
	}
	if done < rows {
		productsOf(sum, product, &dy, &x, done*cols, rows-done, cols, mean, scale, shift)
	}
}

func productsOf[T Float](sum, product []float64, dy, x *Lines[T], from, lines, width int, mean, scale, shift []T) {
	if width <= channelsWidth {
		var s, p [channelsWidth]T
		productsIn(s[:], p[:], sum, product, dy, x, from, lines, width, mean, scale, shift)
		return
	}
	var s, p [blockWidth]T
	productsIn(s[:], p[:], sum, product, dy, x, from, lines, width, mean, scale, shift)
}

// after returns what follows the first numbers of a tile, or nil if nothing does.
func after[T Float](tile []T, first int) []T {
	if tile == nil {
		return nil
	}
	return tile[first:]
}

func productsIn[T Float](s, p []T, sum, product []float64, dy, x *Lines[T], from, lines, width int, mean, scale, shift []T) {
	step := min(dy.step(lines, width), x.step(lines, width))
	for first := 0; first < width; first += blockWidth {
		n := min(blockWidth, width-first)
		clear(s[:n])
		clear(p[:n])
		if dy.inPlace(n) && x.inPlace(n) {
			productsInPlace(s[:n], p[:n], dy, x, from+first, lines, width, step, mean[first:], after(scale, first), after(shift, first))
			addLines(sum, product, s[:n], p[:n], first)
			continue
		}
		for line := 0; line < lines; line += step {
			k, start := min(step, lines-line), from+line*width+first
			up, upStride := dy.at(start, n, k, width)
			in, stride := x.at(start, n, k, width)
			if upStride != stride { // one of them was widened
				up, in, stride = dy.closer(up, n, k, upStride), x.closer(in, n, k, stride), n
			}
			for c := 0; c < n; c += channelsWidth {
				end, at := min(c+channelsWidth, n), first+c
				productsBlock(s[c:end], p[c:end], up[c:], in[c:], mean[at:], after(scale, at), after(shift, at), k, stride)
			}
		}
		addLines(sum, product, s[:n], p[:n], first)
	}
}

// productsInPlace is momentsInPlace for the sums of a gradient.
func productsInPlace[T Float](sum, product []T, dy, x *Lines[T], from, lines, width, step int, mean, scale, shift []T) {
	if width <= channelsWidth {
		step = lines
	}
	for line := 0; line < lines; line += step {
		at := from + line*width
		halfProducts(as32(sum), as32(product), dy.Halves[at:], x.Halves[at:], as32(mean), as32(scale), as32(shift), min(step, lines-line), width)
	}
}

// addLines adds sums of columns from first on to those of the channels.
func addLines[T Float](sum, product []float64, s, p []T, first int) {
	cols := len(sum)
	for i := 0; i < len(s); {
		c := (first + i) % cols
		k := min(len(s)-i, cols-c)
		a, b := sum[c:c+k], product[c:c+k]
		for j := range a {
			a[j] += float64(s[i+j])
			b[j] += float64(p[i+j])
		}
		i += k
	}
}

// productsBlock adds to the sums; mean, scale and shift are those of the same columns and the following ones.
func productsBlock[T Float](sum, product, dy, x, mean, scale, shift []T, lines, stride int) {
	mean = mean[:len(sum)]
	if scale != nil {
		scale, shift = scale[:len(sum)], shift[:len(sum)]
	}
	done := 0
	if single[T]() {
		done = productRows32(as32(sum), as32(product), as32(dy), as32(x), as32(mean), as32(scale), as32(shift), lines, stride)
	} else {
		done = productRows64(as64(sum), as64(product), as64(dy), as64(x), as64(mean), as64(scale), as64(shift), lines, stride)
	}
	if done == len(sum) {
		return
	}
	sum, product = sum[done:], product[done:]
	for r := range lines {
		up, row := dy[r*stride+done:][:len(sum)], x[r*stride+done:][:len(sum)]
		for i, v := range row {
			if scale == nil || T(v*scale[done+i])+shift[done+i] > 0 {
				sum[i] += up[i]
				product[i] += T(up[i] * (v - mean[done+i]))
			}
		}
	}
}

// AffineRows stores x·scale + shift, plus addend unless that is nil, and max(·, 0) of it if relu is set: batch
// normalization and what often follows it. scale and shift are tiles.
func AffineRows[T Float](dst, x, addend, scale, shift []T, relu bool) {
	x, shift = x[:len(dst)], shift[:len(scale)]
	if addend != nil {
		addend = addend[:len(dst)]
	}
	each(len(dst), len(scale), func(at, lines, width int) {
		n := at + lines*width
		d, in, by, to, more := dst[at:n], x[at:n], scale[:width], shift[:width], addend
		if addend != nil {
			more = addend[at:n]
		}
		if single[T]() && affineRows32(as32(d), as32(in), as32(more), as32(by), as32(to), lines, relu) ||
			!single[T]() && affineRows64(as64(d), as64(in), as64(more), as64(by), as64(to), lines, relu) {
			return
		}
		for i, v := range in {
			v = T(v*by[i%width]) + to[i%width]
			if more != nil {
				v += more[i]
			}
			if relu && v < 0 {
				v = 0
			}
			d[i] = v
		}
	})
}

// CombineRows stores x·onX + dy·onDy + constant: the gradient of batch normalization. With scale, it only counts dy
// where x·scale + shift is positive, as in [SumProducts]. All but x and dy are tiles; dst may be dy.
func CombineRows[T Float](dst, x, dy, onX, onDy, constant, scale, shift []T) {
	x, dy, onDy, constant = x[:len(dst)], dy[:len(dst)], onDy[:len(onX)], constant[:len(onX)]
	if scale != nil {
		scale, shift = scale[:len(onX)], shift[:len(onX)]
	}
	each(len(dst), len(onX), func(at, lines, width int) {
		n := at + lines*width
		d, in, up := dst[at:n], x[at:n], dy[at:n]
		if single[T]() && combineRows32(as32(d), as32(in), as32(up), as32(onX), as32(onDy), as32(constant), as32(scale), as32(shift), lines, width) ||
			!single[T]() && combineRows64(as64(d), as64(in), as64(up), as64(onX), as64(onDy), as64(constant), as64(scale), as64(shift), lines, width) {
			return
		}
		for i, v := range in {
			k := i % width
			t := constant[k]
			if scale == nil || T(v*scale[k])+shift[k] > 0 {
				t += T(up[i] * onDy[k])
			}
			d[i] = T(v*onX[k]) + t
		}
	})
}

// each cuts n numbers into lines of a tile's length and calls f for several lines at a time, and for the remainder.
func each(n, tile int, f func(at, lines, width int)) {
	if n == 0 || tile == 0 {
		return
	}
	at := 0
	for whole := n / tile; whole > 0; {
		lines := min(max(channelBlock/tile, 1), whole)
		f(at, lines, tile)
		at, whole = at+lines*tile, whole-lines
	}
	if at < n {
		f(at, 1, n-at)
	}
}
