package conv

import "github.com/gokeras/gokeras/kernels/cpu/internal/vec"

// Tiles of 4x4 outputs are transformed one axis at a time: first all rows of pixels that a row of tiles sees, down the
// columns, then each tile along the rows. So pixels that two tiles see are transformed down the columns only once.

// readSixes transforms what a row of tiles sees of an image into v; rows holds the intermediate numbers.
func (w *Winograd) readSixes(v, rows []float32, image, row, plane int) {
	n := &w.shape
	c, line := n.InChannels, w.line()
	for _, tap := range w.first[0] {
		w.readDown(rows, image, row, tap)
		for _, column := range w.first[1] {
			for i := range w.lines() {
				vec.WinogradSixes(v[6*i*plane:], rows[i*line+column*c:], w.cols, c, w.strideV, plane, 4*n.Strides[2]*c, n.Strides[2]*c)
			}
			v = v[c:]
		}
	}
}

// readDown transforms the pixels that a row of tiles sees, from a tap on, down the columns. For kernels of one row, it
// leaves them as they are.
func (w *Winograd) readDown(rows []float32, image, row, tap int) {
	n := &w.shape
	lo, hi, pixels := w.pixels(row)
	c, line, first := n.InChannels, w.line(), w.line0(row, tap)
	if w.flat || first < 0 || first+5*n.Strides[1] >= n.In[1] || lo >= hi {
		if w.readRows(rows, image, row, tap); !w.flat {
			vec.WinogradSixes(rows, rows, 1, line, 0, line, 0, line)
		}
		return
	}
	for i := range 6 {
		clear(rows[i*line : i*line+lo*c])
		clear(rows[i*line+hi*c : i*line+pixels*c])
	}
	x := w.x[((image*n.In[1]+first)*n.In[2]+lo-n.PadLow[2])*c:]
	vec.WinogradSixes(rows[lo*c:], x, 1, (hi-lo)*c, 0, line, 0, n.Strides[1]*n.In[2]*c)
}

// writeLine transforms the sums m of a row of one-dimensional tiles back; edge is used where the row is cut off.
func (w *Winograd) writeLine(edge, m []float32, image, row, plane int) {
	c, first := w.shape.OutChannels, 4*w.cols*row
	y := w.y[(image*w.out[2]+first)*c:]
	count, to := w.out[2]-first, y
	if count < 4*w.cols {
		to = edge
	}
	vec.WinogradFours(to, m, w.bias, w.relu, w.cols, c, 4*c, c, c, plane)
	if count < 4*w.cols {
		copy(y[:count*c], edge)
	}
}

// writeFours transforms the sums m of a row of tiles back. rows has room for intermediate numbers, and for rows outside
// the result.
func (w *Winograd) writeFours(rows, m []float32, image, row, plane int) {
	n := &w.shape
	c, line := n.OutChannels, w.out[2]*n.OutChannels
	between, outside := rows[:6*4*w.cols*c], rows[6*4*w.cols*c:]
	for i := range 6 {
		vec.WinogradFours(between[i*4*w.cols*c:], m[6*i*plane:], nil, false, w.cols, c, 4*c, c, c, plane)
	}
	y := w.y[(image*w.out[1]+4*row)*line:]
	count := min(w.out[1]-4*row, 4)
	to := y
	if count < 4 {
		to = outside
	}
	vec.WinogradFours(to, between, w.bias, w.relu, w.out[2], c, c, line, c, 4*w.cols*c)
	if count < 4 {
		copy(y[:count*line], outside)
	}
}
