package cpu

import (
	"time"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// peakTile is a product whose operands stay in the first-level cache and whose tiles fill the registers.
type peakTile struct{ tile micro.Tile[float32] }

func newPeakTile() *peakTile {
	const rows, cols, sums = 84, 32, 64 // 84 rows are a whole number of tiles for every kernel family
	return &peakTile{micro.Tile[float32]{A: make([]float32, rows*sums), B: make([]float32, sums*cols), C: make([]float32, rows*cols),
		Rows: rows, Cols: cols, K: sums, Segments: 1, Outer: 1, ARow: sums, AK: 1, BK: cols, CRow: cols}}
}

// run repeats the product n times and returns its floating-point operations.
func (p *peakTile) run(n int) float64 {
	for range n {
		micro.Run(&p.tile)
	}
	return 2 * float64(p.tile.Rows*p.tile.Cols*p.tile.K) * float64(n)
}

// peakTask runs a tile on each worker.
type peakTask struct {
	tiles  []*peakTile
	rounds int
}

// Run implements pool.Task.
func (t *peakTask) Run(worker, lo, hi int) { t.tiles[worker].run(t.rounds * (hi - lo)) }

// MeasurePeak returns the floating-point operations per second that the float32 multiply-add kernels of this process
// reach on operands in the first-level cache. The rates of programs are compared with it. It uses the same workers as
// programs (GOMAXPROCS) and takes about the given time. It returns the best of several samples, because other processes
// can only slow a sample down.
func MeasurePeak(d time.Duration) float64 {
	p := pool.Shared()
	task := &peakTask{rounds: 8}
	for range p.Size() {
		task.tiles = append(task.tiles, newPeakTile())
	}
	const chunks = 32
	flops := 2 * 84 * 32 * 64 * float64(task.rounds*chunks)
	best := 0.0
	for end := time.Now().Add(d); ; {
		begin := time.Now()
		p.Parallel(chunks, 1, task)
		best = max(best, flops/time.Since(begin).Seconds())
		if time.Now().After(end) {
			return best
		}
	}
}
