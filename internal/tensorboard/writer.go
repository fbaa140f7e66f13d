package tensorboard

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// Writer writes one event file. Its methods must not be called concurrently.
type Writer struct {
	file    *os.File
	buffer  *bufio.Writer
	record  []byte
	flushed time.Time
}

var files atomic.Uint64 // tells apart the files of one process

// flushAfter is how long values may wait before they are written to the file.
const flushAfter = 10 * time.Second

// NewWriter creates an event file with a new name in a folder, and the folder if it is missing.
func NewWriter(dir string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	now := time.Now()
	name := fmt.Sprintf("events.out.tfevents.%d.%s.%d.%d.v2", now.Unix(), strings.ReplaceAll(host, string(filepath.Separator), "_"), os.Getpid(), files.Add(1)-1)
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: f, buffer: bufio.NewWriterSize(f, 1<<16), flushed: now}
	if err := w.write(firstEvent(seconds(now))); err != nil {
		_ = f.Close() // the first error is the one to report
		return nil, err
	}
	return w, nil
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

func (w *Writer) write(message []byte) error {
	w.record = appendRecord(w.record[:0], message)
	_, err := w.buffer.Write(w.record)
	return err
}

// Write adds a value at a step. It appears in the file after ten seconds, or with Flush.
func (w *Writer) Write(step int64, v *Value) error {
	now := time.Now()
	if err := w.write(summaryEvent(seconds(now), step, v)); err != nil {
		return err
	}
	if now.Sub(w.flushed) > flushAfter {
		return w.Flush()
	}
	return nil
}

// Scalar adds a number, in single precision.
func (w *Writer) Scalar(step int64, tag string, value float64) error {
	return w.Write(step, &Value{Tag: tag, Plugin: "scalars", Floats: []float32{float32(value)}})
}

// Histogram adds the distribution of numbers.
func (w *Writer) Histogram(step int64, tag string, values []float64) error {
	return w.Write(step, &Value{Tag: tag, Plugin: "histograms", Shape: []int{buckets, 3}, Doubles: Histogram(values)})
}

// KerasModel adds a model's configuration (to_json), which TensorBoard draws as the conceptual graph.
func (w *Writer) KerasModel(tag string, document []byte) error {
	return w.Write(0, &Value{Tag: tag, Plugin: "graph_keras_model", Content: []byte("1"), Strings: [][]byte{document}})
}

// Flush writes pending values to the file.
func (w *Writer) Flush() error {
	w.flushed = time.Now()
	return w.buffer.Flush()
}

// Close flushes and closes the file.
func (w *Writer) Close() error {
	err := w.buffer.Flush()
	if e := w.file.Close(); err == nil {
		err = e
	}
	return err
}
