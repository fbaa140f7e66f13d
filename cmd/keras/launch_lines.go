package main

import (
	"fmt"
	"io"
	"sync"
)

// lineWriter writes whole lines, from several sources, one at a time.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// prefixed returns a writer whose lines begin with a prefix.
func (w *lineWriter) prefixed(prefix string) *prefixWriter {
	return &prefixWriter{lines: w, prefix: prefix}
}

// prefixWriter is one source of lines.
type prefixWriter struct {
	lines   *lineWriter
	prefix  string
	pending []byte
}

// maxLine is the largest number of bytes that are kept of an unfinished line.
const maxLine = 64 << 10

// Write implements io.Writer. Carriage returns, which progress bars use, end a line too.
func (p *prefixWriter) Write(b []byte) (int, error) {
	for _, c := range b {
		if c == '\n' || c == '\r' || len(p.pending) >= maxLine {
			p.flush()
		}
		if c != '\n' && c != '\r' {
			p.pending = append(p.pending, c)
		}
	}
	return len(b), nil
}

// flush writes what has been collected.
func (p *prefixWriter) flush() {
	if len(p.pending) == 0 {
		return
	}
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	_, _ = fmt.Fprintf(p.lines.w, "%s%s\n", p.prefix, p.pending) // where output goes nowhere, there is nobody to tell
	p.pending = p.pending[:0]
}
