package vec

// MaxPool2x2 computes the maximum over windows of 2x2 with stride 2 and no padding of NHWC images: x is [images, h, w,
// c], dst is [images, h/2, w/2, c]; an odd last row or column is ignored. NaN in a window gives NaN.
func MaxPool2x2[T Float](dst, x []T, images, h, w, c int) {
	oh, ow := h/2, w/2
	for i := range images * oh {
		row := (i/oh*h + i%oh*2) * w * c
		x0, x1 := x[row:row+w*c], x[row+w*c:row+2*w*c]
		out := dst[i*ow*c : (i+1)*ow*c]
		for o := maxPoolRow(floatBytes[T](), start(out), start(x0), start(x1), ow, c); o < ow; o++ {
			d := out[o*c : (o+1)*c]
			a, b := x0[2*o*c:][:len(d)], x0[(2*o+1)*c:][:len(d)]
			e, f := x1[2*o*c:][:len(d)], x1[(2*o+1)*c:][:len(d)]
			for k := range d {
				m := a[k]
				if v := b[k]; v > m || v != v {
					m = v
				}
				if v := e[k]; v > m || v != v {
					m = v
				}
				if v := f[k]; v > m || v != v {
					m = v
				}
				d[k] = m
			}
		}
	}
}

// MaxPool2x2Backward is the gradient of [MaxPool2x2]. It computes all of dx from the pooling's input x and output y and
// the gradient dy with respect to y. The gradient of a window goes to its largest element, the first in row order among
// equals, or to the first NaN. With relu set, x must be the output of a relu, and dx is the gradient with respect to
// the relu's input: windows whose maximum is 0 get none.
func MaxPool2x2Backward[T Float](dx, dy, x, y []T, images, h, w, c int, relu bool) {
	oh, ow := h/2, w/2
	for image := range images {
		for r := range oh {
			in := (image*h + 2*r) * w * c
			out := (image*oh + r) * ow * c
			x0, x1 := x[in:in+w*c], x[in+w*c:in+2*w*c]
			d0, d1 := dx[in:in+w*c], dx[in+w*c:in+2*w*c]
			g, m := dy[out:out+ow*c], y[out:out+ow*c]
			clear(d0[2*ow*c:]) // an odd last column
			clear(d1[2*ow*c:])
			done := maxPoolRowGrad(floatBytes[T](), start(d0), start(d1), start(g), start(x0), start(x1), start(m), ow, c, relu)
			maxPoolRowBackward(d0[2*done*c:], d1[2*done*c:], g[done*c:], x0[2*done*c:], x1[2*done*c:], m[done*c:], c, relu)
		}
		if h%2 != 0 {
			clear(dx[(image*h+h-1)*w*c : (image+1)*h*w*c])
		}
	}
}

// maxPoolRowBackward handles one row of windows.
func maxPoolRowBackward[T Float](d0, d1, dy, x0, x1, y []T, c int, relu bool) {
	for o := range len(y) / c {
		g, m := dy[o*c:(o+1)*c], y[o*c:(o+1)*c]
		left, right := 2*o*c, (2*o+1)*c
		for k := range g {
			v, top := g[k], m[k]
			if relu && !(top > 0) {
				v = 0
			}
			var a, b, e, f T
			switch p, q, r := x0[left+k], x0[right+k], x1[left+k]; {
			case p == top || p != p:
				a = v
			case q == top || q != q:
				b = v
			case r == top || r != r:
				e = v
			default:
				f = v
			}
			d0[left+k], d0[right+k], d1[left+k], d1[right+k] = a, b, e, f
		}
	}
}
