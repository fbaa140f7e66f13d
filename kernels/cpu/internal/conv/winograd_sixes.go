package conv

import "github.com/gokeras/gokeras/kernels/cpu/internal/vec"

// Tiles of 4x4 outputs are transformed one axis after the other: all pixels of the rows that a row of tiles sees, down
// the columns; then every tile along the rows. Pixels that two tiles see are transformed once down the columns.

// readSixes transforms what a row of tiles sees of an image into v, by way of rows.
func (w *Winograd) readSixes(v, rows []float32, image, row, plane int) {
	n := &w.shape
	lo, hi, pixels := w.pixels()
	c, line := n.InChannels, w.line()
	if first := 4*row - n.PadLow[1]; first >= 0 && first+6 <= n.In[1] && lo < hi {
		for i := range 6 {
			clear(rows[i*line : i*line+lo*c])
			clear(rows[i*line+hi*c : i*line+pixels*c])
		}
		x := w.x[((image*n.In[1]+first)*n.In[2]+lo-n.PadLow[2])*c:]
		vec.WinogradSixes(rows[lo*c:], x, 1, (hi-lo)*c, 0, line, 0, n.In[2]*c)
	} else {
		w.readRows(rows, image, row)
		vec.WinogradSixes(rows, rows, 1, line, 0, line, 0, line)
	}
	for i := range 6 {
		vec.WinogradSixes(v[6*i*plane:], rows[i*line:], w.cols, c, w.strideV, plane, 4*c, c)
	}
}

// writeFours transforms the sums m of a row of tiles back. Rows has room for what lies between the steps, and for rows
// outside of the result.
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
