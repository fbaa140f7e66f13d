package vec

// The transformations of Winograd's F(2x2, 3x3): a tile of 2x2 outputs of a 3x3 convolution is computed from a tile of
// 4x4 inputs, with 16 products for each pair of channels instead of 36. Tiles are two pixels apart. The 16 numbers of a
// tile and channel are in 16 matrices, plane elements apart. A row of a matrix is a tile; rows are step elements apart
// and have c channels as columns.

// WinogradInput transforms count tiles of four rows of pixels that are line elements apart. If B is the matrix of
//
//	a - c, b + c, c - b, b - d
//
// the tile d becomes Bᵀ·d·B.
func WinogradInput(dst, x []float32, count, c, step, plane, line int) {
	if count <= 0 || c <= 0 {
		return
	}
	dst, x = dst[:15*plane+(count-1)*step+c], x[:3*line+(2*count+2)*c]
	if winogradInput32(dst, x, count, c, step, plane, line) {
		return
	}
	for t := range count {
		for k := range c {
			var z [4][4]float32
			for j := range 4 {
				at := (2*t+j)*c + k
				z[0][j], z[1][j], z[2][j], z[3][j] = tileInput(x[at], x[line+at], x[2*line+at], x[3*line+at])
			}
			for i := range 4 {
				at := 4*i*plane + t*step + k
				dst[at], dst[at+plane], dst[at+2*plane], dst[at+3*plane] = tileInput(z[i][0], z[i][1], z[i][2], z[i][3])
			}
		}
	}
}

func tileInput(a, b, c, d float32) (float32, float32, float32, float32) {
	return a - c, b + c, c - b, b - d
}

// WinogradGradient transforms count tiles of two rows of pixels for the gradient of a kernel. Rows are line elements
// apart, pixels pixel elements. If A is the matrix of
//
//	a, (a + b) / 2, (a - b) / 2, b
//
// the tile d becomes A·d·Aᵀ.
func WinogradGradient(dst, x []float32, count, c, step, plane, line, pixel int) {
	if count <= 0 || c <= 0 {
		return
	}
	dst, x = dst[:15*plane+(count-1)*step+c], x[:line+(2*count-1)*pixel+c]
	if winogradGradient32(dst, x, count, c, step, plane, line, pixel) {
		return
	}
	for t := range count {
		for k := range c {
			var z [2][4]float32
			for j := range z {
				at := (2*t+j)*pixel + k
				z[j][0], z[j][1], z[j][2], z[j][3] = tileGradient(x[at], x[line+at])
			}
			for i := range 4 {
				at := 4*i*plane + t*step + k
				dst[at], dst[at+plane], dst[at+2*plane], dst[at+3*plane] = tileGradient(z[0][i], z[1][i])
			}
		}
	}
}

func tileGradient(a, b float32) (float32, float32, float32, float32) {
	return a, 0.5*a + 0.5*b, 0.5*a - 0.5*b, b
}

// WinogradOutput transforms count tiles of sums back, to two rows of pixels that are line elements apart. If A is the
// matrix of
//
//	a + b + c, b - c - d
//
// the sums m become Aᵀ·m·A, plus the bias (one number for each channel), and max(·, 0) of it if relu is set.
func WinogradOutput(dst, x, bias []float32, relu bool, count, c, step, plane, line int) {
	if count <= 0 || c <= 0 {
		return
	}
	dst, x, bias = dst[:line+2*count*c], x[:15*plane+(count-1)*step+c], bias[:c]
	if winogradOutput32(dst, x, bias, relu, count, c, step, plane, line) {
		return
	}
	for t := range count {
		for k, b := range bias {
			var o [4][2]float32
			for i := range 4 {
				at := 4*i*plane + t*step + k
				o[i][0], o[i][1] = tileOutput(x[at], x[at+plane], x[at+2*plane], x[at+3*plane])
			}
			for j := range 2 {
				top, below := tileOutput(o[0][j], o[1][j], o[2][j], o[3][j])
				if top, below = top+b, below+b; relu {
					top, below = positive(top), positive(below)
				}
				dst[(2*t+j)*c+k], dst[line+(2*t+j)*c+k] = top, below
			}
		}
	}
}

func tileOutput(a, b, c, d float32) (float32, float32) { return a + b + c, b - c - d }

func positive(v float32) float32 {
	if v < 0 {
		return 0
	}
	return v
}
