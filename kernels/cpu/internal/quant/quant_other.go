//go:build !amd64

package quant

func active() family { return familyGo }

func (f family) multiply(_ int, c []int32, _ int, x []byte, ldx int, w []byte, _ int) {
	multiplyGo(c, x[:ldx], w)
}
