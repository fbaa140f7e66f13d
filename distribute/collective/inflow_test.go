package collective

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"

	"github.com/gokeras/gokeras/kernels/ir"
)

// readFrame does what gRPC does to read a frame: the header, memory from the pool for the payload of DATA, and the payload.
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

// ringMessage is a message of a ring, cut to frames of a size, with what else is between them.
func ringMessage(f *frame, payload []byte, size int, between []byte, first ...int) []byte {
	f.payload = mem.SliceBuffer(payload)
	parts, _ := codec{}.Marshal(f)
	message := parts.Materialize()
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	var out []byte
	for len(body) > 0 {
		n := min(len(body), size)
		if len(first) > 0 {
			n, first = first[0], first[1:]
		}
		out = append(append(out, header(n, 0, 1)...), body[:n]...)
		body = body[n:]
		out = append(out, between...)
	}
	return out
}

// readMessage reads a message of stream 1 as gRPC does, and returns how many frames of DATA it came in.
func readMessage(t *testing.T, s *socket) (got *frame, frames int) {
	var pieces mem.BufferSlice
	for size, end := 0, prefixBytes; size < end; {
		head, b, err := readFrame(s)
		require.NoError(t, err)
		if head[3] != 0 || head[8] != 1 {
			continue
		}
		pieces = append(pieces, b)
		frames++
		if size += b.Len(); size >= prefixBytes {
			end = prefixBytes + int(binary.BigEndian.Uint32(pieces.Materialize()[1:]))
		}
	}
	_, pieces[0] = mem.SplitUnsafe(pieces[0], prefixBytes) // as gRPC takes the length away
	got = &frame{}
	require.NoError(t, codec{}.Unmarshal(pieces, got))
	return got, frames
}

// Results of a ring are read to where they belong, partial sums are added there, and gRPC gets neither.
func TestLanding(t *testing.T) {
	const count = 400_003
	for _, test := range []struct {
		name    string
		size    int
		first   []int // sizes of the first frames
		between []byte
		passes  bool // through gRPC
	}{
		{"whole frames", slotBytes, nil, nil, false},
		{"the first ends within an element", slotBytes, []int{5001}, nil, false},
		{"the third ends within an element", slotBytes, []int{slotBytes, slotBytes, 5001}, nil, false},
		{"others between", slotBytes, nil, header(0, 4, 0), false},
		{"parts of a long message of another stream between", slotBytes, nil, append(header(40, 0, 9), append([]byte{0, 0, 1, 0, 0}, make([]byte, 35)...)...), false},
		{"frames that end within elements", 5001, nil, nil, false},
		{"small frames", 700, nil, nil, false},
		{"frames smaller than an element", 700, []int{800, 1, 1, 1, 2, 3}, nil, false},
		{"a first frame of the header alone", slotBytes, []int{prefixBytes + longHeader}, nil, false},
		{"a first frame shorter than the header", slotBytes, []int{40}, nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, far := sockets(t)
			s.trusted.Store(true)
			data := make([]float32, count)
			for i := range data {
				data[i] = float32(i % 1000)
			}
			p := plan{op: Sum, dtype: ir.Float32, rank: 0, n: 2, count: count}
			r := newRing(p, p.segmentBytes(1<<20))
			c := &call{sequence: 7, hash: 99}
			s.t.landing.begin(r, 5, c, bytesOf(data))
			session := &session{}
			random := rand.New(rand.NewPCG(1, 2))
			for _, round := range []uint32{0, 1, 0} {
				from, to := r.span(r.incoming(int(round)), 0)
				payload := make([]float32, (to-from)/4)
				for i := range payload {
					payload[i] = float32(i%7) + 0.5
				}
				target := bytesOf(data)[from:to]
				want := slices.Clone(view[float32](target))
				for i := range want {
					if round == 1 {
						want[i] = 0
					}
					want[i] += payload[i]
				}
				f := &frame{view: 5, sequence: 7, call: 99, round: round}
				message := ringMessage(f, bytesOf(payload), test.size, test.between, test.first...)
				sent := send(far, message, random, false)
				got, frames := readMessage(t, s)
				require.NoError(t, <-sent)
				require.Equal(t, to-from, got.size())
				if test.passes {
					require.Greater(t, frames, 1)
				} else {
					require.Equal(t, 1, frames)
					require.True(t, slices.Equal(want, view[float32](target)), "round %d", round)
				}
				if round == 0 {
					require.NoError(t, session.takeAdd(c, &p, 1, got, target))
				} else {
					require.NoError(t, session.take(c, &p, 1, got, target))
				}
				require.True(t, slices.Equal(want, view[float32](target)), "round %d", round)
			}
		})
	}
}

// What gRPC does not see is acknowledged to the sender all the same: once for the stream and once for the connection, between the
// frames that gRPC writes meanwhile.
func TestLandingAcknowledges(t *testing.T) {
	const count = 4 << 20
	s, far := sockets(t)
	s.trusted.Store(true)
	p := plan{op: Sum, dtype: ir.Float32, rank: 0, n: 2, count: count}
	r := newRing(p, p.segmentBytes(1<<20))
	s.t.landing.begin(r, 5, &call{sequence: 7, hash: 99}, bytesOf(make([]float32, count)))
	var message []byte
	bytes, messages := 0, r.segments(r.incoming(0))-1 // the last one may be short
	for i := range messages {
		from, to := r.span(r.incoming(0), i)
		bytes += to - from
		message = append(message, ringMessage(&frame{view: 5, sequence: 7, call: 99, index: uint32(i)}, make([]byte, to-from), slotBytes, nil)...)
	}
	sent := send(far, message, rand.New(rand.NewPCG(1, 2)), false)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // what gRPC writes
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = s.Write(header(20, 0, 3))
				_, _ = s.Write([]byte{0, 0, 0, 0, 15})
				_, _ = s.Write(make([]byte, 15))
			}
		}
	}()
	granted := map[uint32]int{}
	done := make(chan error, 1)
	go func() {
		for granted[0] < bytes-owedBytes {
			head := make([]byte, frameHeader)
			if _, err := io.ReadFull(far, head); err != nil {
				done <- err
				return
			}
			body := make([]byte, int(head[2]))
			if _, err := io.ReadFull(far, body); err != nil {
				done <- err
				return
			}
			if head[3] == kindWindowUpdate {
				granted[binary.BigEndian.Uint32(head[5:])] += int(binary.BigEndian.Uint32(body))
			} else if head[3] != 0 || len(body) != 20 {
				done <- errors.New("a frame was torn")
				return
			}
		}
		done <- nil
	}()
	for range messages {
		_, frames := readMessage(t, s)
		require.Equal(t, 1, frames)
	}
	require.NoError(t, <-sent)
	require.NoError(t, <-done)
	close(stop)
	_, _ = far.(*net.TCPConn).SetReadBuffer(0), far.Close()
	<-stopped
	require.Equal(t, granted[0], granted[1])
	require.Equal(t, bytes, granted[0]+s.owed)
}

// When the ring is over, nothing is written to its memory any more, in the middle of a message too.
func TestLandingEnds(t *testing.T) {
	for _, round := range []uint32{0, 1} {
		s, far := sockets(t)
		s.trusted.Store(true)
		const count = 400_000
		data := make([]float32, count)
		p := plan{op: Sum, dtype: ir.Float32, rank: 0, n: 2, count: count}
		r := newRing(p, p.segmentBytes(1<<20))
		s.t.landing.begin(r, 5, &call{sequence: 7, hash: 99}, bytesOf(data))
		from, to := r.span(r.incoming(int(round)), 0)
		message := ringMessage(&frame{view: 5, sequence: 7, call: 99, round: round}, bytes.Repeat([]byte{1}, to-from), slotBytes, nil)
		_, err := far.Write(message[:200_000]) // within a frame
		require.NoError(t, err)
		require.NoError(t, s.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
		_, _, err = readFrame(s)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NotEqual(t, make([]float32, count), data, "nothing has landed")
		s.in.err = nil
		require.NoError(t, s.SetReadDeadline(time.Time{}))
		s.t.landing.end()
		clear(data)
		rest := append(message[200_000:], header(5, 0, 3)...)
		sent := send(far, append(rest, "hello"...), rand.New(rand.NewPCG(1, 2)), false)
		_, frames := readMessage(t, s)
		require.Equal(t, 1, frames)
		_, last, err := readFrame(s)
		require.NoError(t, err)
		require.Equal(t, "hello", string(last.ReadOnlyData()))
		require.NoError(t, <-sent)
		require.True(t, slices.Equal(make([]float32, count), data), "memory was written to after the end")
	}
}

// A stream that ends within a message that lands takes nothing else with it, and what came of it is acknowledged.
func TestLandingIsCutShort(t *testing.T) {
	s, far := sockets(t)
	s.trusted.Store(true)
	const count = 400_000
	p := plan{op: Sum, dtype: ir.Float32, rank: 0, n: 2, count: count}
	r := newRing(p, p.segmentBytes(1<<20))
	s.t.landing.begin(r, 5, &call{sequence: 7, hash: 99}, bytesOf(make([]float32, count)))
	from, to := r.span(r.incoming(1), 0)
	message := ringMessage(&frame{view: 5, sequence: 7, call: 99, round: 1}, make([]byte, to-from), slotBytes, nil)
	whole := 5 * (frameHeader + slotBytes)
	stream := append(message[:whole:whole], append(header(4, 3, 1), 0, 0, 0, 8)...) // RST_STREAM
	sent := send(far, append(stream, message...), rand.New(rand.NewPCG(3, 4)), false)
	head, _, err := readFrame(s)
	require.NoError(t, err)
	require.EqualValues(t, 3, head[3])
	_, frames := readMessage(t, s)
	require.Equal(t, 1, frames)
	require.NoError(t, <-sent)
	granted := make([]byte, 2*(frameHeader+4))
	_, err = io.ReadFull(far, granted)
	require.NoError(t, err)
	require.EqualValues(t, 5*slotBytes, binary.BigEndian.Uint32(granted[frameHeader:]))
}

// A frame that does not belong into a message that lands ends the connection, as gRPC would.
func TestLandingRefusesStrayFrames(t *testing.T) {
	for name, stray := range map[string][]byte{
		"too long": header(slotBytes, 0, 1),
		"padded":   {0, 0, 9, 0, flagPadded, 0, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, far := sockets(t)
			s.trusted.Store(true)
			const count = 400_000
			p := plan{op: Sum, dtype: ir.Float32, rank: 0, n: 2, count: count}
			r := newRing(p, p.segmentBytes(1<<20))
			s.t.landing.begin(r, 5, &call{sequence: 7, hash: 99}, bytesOf(make([]float32, count)))
			from, to := r.span(r.incoming(1), 0)
			message := ringMessage(&frame{view: 5, sequence: 7, call: 99, round: 1}, make([]byte, to-from), slotBytes, nil)
			cut := len(message) - len(message)%(frameHeader+slotBytes) - frameHeader - slotBytes // before the last whole frame
			cut += frameHeader + slotBytes
			require.Less(t, len(message)-cut, slotBytes, "the last frame is to be a short one")
			_, err := far.Write(append(message[:cut:cut], append(slices.Clone(stray), make([]byte, slotBytes)...)...))
			require.NoError(t, err)
			_, _, err = readFrame(s)
			require.ErrorIs(t, err, errStrayFrame)
		})
	}
}

// However the workers of a ring take turns, what is on its way between two of them stays bounded: else all could wait for room.
func TestRingIsBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for _, n := range []int{2, 3, 5, 8} {
		rings := make([]*ring, n)
		queues := make([][]segment, n) // by the rank that receives
		for rank := range rings {
			rings[rank] = newRing(plan{op: Sum, dtype: ir.Float32, rank: rank, n: n, count: 1000 * n}, 40)
		}
		most := 0
		step := func(rank int) error {
			r, right := rings[rank], (rank+1)%n
			for own, ok := r.next(); ok; own, ok = r.next() {
				queues[right] = append(queues[right], own)
			}
			if len(queues[rank]) > 0 {
				s := queues[rank][0]
				queues[rank] = queues[rank][1:]
				if !r.valid(s) {
					return errors.New("not valid")
				}
				if _, _, _, _, forward, onward := r.accept(s); forward {
					queues[right] = append(queues[right], onward)
				}
			}
			most = max(most, len(queues[right]))
			return nil
		}
		for slices.ContainsFunc(rings, func(r *ring) bool { return !r.done() }) {
			rank := random.IntN(n)
			for range random.IntN(200) {
				require.NoError(t, step(rank))
			}
		}
		t.Logf("%d workers: %d", n, most)
		require.LessOrEqual(t, most, 2*lead*n, "%d workers", n)
	}
}
