//go:build !amd64

package micro

const hasPooled = false

// pooled is never called: there is no assembly for it here.
func pooled[T Float](*Tile[T]) {}
