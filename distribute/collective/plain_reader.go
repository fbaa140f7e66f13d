package collective

import "net"

// plainReader fills many buffers by copying, on systems whose kernel cannot do it.
type plainReader struct{ memory, held []byte }

func (*plainReader) init(net.Conn) {}

// read does the same as vectorReader's.
func (r *plainReader) read(conn net.Conn, buffers [][]byte, guard *landing, serial uint64) (int, error) {
	if len(r.held) == 0 {
		if r.memory == nil {
			r.memory = make([]byte, 64<<10)
		}
		n, err := conn.Read(r.memory)
		if n == 0 {
			return 0, err
		}
		r.held = r.memory[:n] // an error comes again
	}
	if guard != nil {
		guard.mu.Lock()
		defer guard.mu.Unlock()
		if guard.serial != serial {
			return 0, errLanded
		}
	}
	total := 0
	for _, b := range buffers {
		n := copy(b, r.held)
		r.held = r.held[n:]
		total += n
	}
	return total, nil
}
