package collective

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
)

// readFrame does what gRPC does to read a frame: the header, memory from the pool for the payload of DATA, and the
// payload.
func readFrame(s *socket) (head []byte, payload mem.Buffer, err error) {
	head = make([]byte, frameHeader)
	if _, err = io.ReadFull(s, head); err != nil {
		return head, nil, err
	}
	length := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	if head[3] != 0 || length <= 1<<10 {
		b := make([]byte, length)
		_, err = io.ReadFull(s, b)
		return head, mem.SliceBuffer(b), err
	}
	handle := s.in.Get(length)
	b := *handle
	if head[4]&8 != 0 { // padded
		if _, err = io.ReadFull(s, b[:1]); err != nil {
			return head, nil, err
		}
		padding := int(b[0])
		b = b[:len(b)-1]
		_, err = io.ReadFull(s, b)
		b = b[:len(b)-padding]
	} else {
		_, err = io.ReadFull(s, b)
	}
	*handle = b
	return head, mem.NewBuffer(handle, &s.in), err
}

// send writes in the background, in pieces of random sizes, and then closes the connection if asked to.
func send(far net.Conn, data []byte, random *rand.Rand, end bool) <-chan error {
	done := make(chan error, 1)
	go func() {
		for len(data) > 0 {
			n := min(len(data), []int{1, 8, 100, 5000, 16393, 100_000, 1 << 20}[random.IntN(7)])
			if _, err := far.Write(data[:n]); err != nil {
				done <- err
				return
			}
			data = data[n:]
			if random.IntN(8) == 0 {
				time.Sleep(100 * time.Microsecond)
			}
		}
		if end {
			_ = far.Close() // the end that is read
		}
		done <- nil
	}()
	return done
}

// Whatever frames come, and however the network cuts them, gRPC reads them as they were sent, and then the end.
func TestSocketReads(t *testing.T) {
	for name, portable := range map[string]bool{"vector": false, "portable": true} {
		t.Run(name, func(t *testing.T) {
			s, far := sockets(t)
			if portable {
				s.in.reader = vectorReader{}
			}
			s.in.plain = prefaceBytes
			random := rand.New(rand.NewPCG(5, 6))
			preface := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
			stream := slices.Clone(preface)
			var want [][]byte
			frame := func(kind, flags byte, id uint32, payload []byte) {
				h := header(len(payload), kind, id)
				h[4] = flags
				stream = append(append(stream, h...), payload...)
				if flags&8 != 0 {
					payload = payload[1 : len(payload)-int(payload[0])]
				}
				want = append(want, slices.Concat(h, payload))
			}
			for range 400 {
				id := uint32(1 + 2*random.IntN(3))
				switch random.IntN(8) {
				case 0:
					frame(8, 0, 0, []byte{0, 0, 1, 0})
				case 1:
					frame(4, 0, 0, nil)
				case 2:
					padded := make([]byte, 2000+random.IntN(5000))
					padded[0] = byte(random.IntN(200))
					padded[5] = 9
					frame(0, 8, id, padded)
				default: // a message, perhaps with another frame within, perhaps with frames of odd sizes, as at the end of a window
					message := make([]byte, prefixBytes+[]int{0, 27, 900, 16379, 16380, 40_000, 65*slotBytes - prefixBytes, 300_000}[random.IntN(8)])
					for i := range message {
						message[i] = byte(i*7919>>4 + len(want))
					}
					message[0] = 0
					binary.BigEndian.PutUint32(message[1:], uint32(len(message)-prefixBytes))
					for len(message) > 0 {
						n := min(len(message), slotBytes)
						if random.IntN(20) == 0 {
							n = 1 + random.IntN(n)
						}
						frame(0, 0, id, message[:n])
						message = message[n:]
						if random.IntN(15) == 0 {
							frame(0, 0, id+100, make([]byte, random.IntN(3000)))
						}
					}
				}
			}
			sent := send(far, stream, random, true)
			first := make([]byte, prefaceBytes)
			_, err := io.ReadFull(s, first)
			require.NoError(t, err)
			require.Equal(t, preface, first)
			var kept []mem.Buffer // for a while, as messages are
			for i, w := range want {
				h, payload, err := readFrame(s)
				require.NoError(t, err, "frame %d", i)
				require.True(t, bytes.Equal(w, slices.Concat(h, payload.ReadOnlyData())), "frame %d", i)
				if kept = append(kept, payload); len(kept) == 80 {
					for j, b := range kept {
						require.True(t, bytes.Equal(want[i-79+j][frameHeader:], b.ReadOnlyData()), "frame %d was overwritten", i-79+j)
						b.Free()
					}
					kept = kept[:0]
				}
			}
			_, _, err = readFrame(s)
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, <-sent)
			require.Equal(t, int64(len(stream)), s.t.received.Load())
			require.NoError(t, s.Close())
			_, _, err = readFrame(s)
			require.Error(t, err)
		})
	}
}

func TestSocketRefusesLargeFrames(t *testing.T) {
	s, far := sockets(t)
	_, err := far.Write(append(header(1<<20, 0, 1), make([]byte, 100_000)...))
	require.NoError(t, err)
	_, err = s.Read(make([]byte, frameHeader))
	require.ErrorIs(t, err, errLargeFrame)
}
