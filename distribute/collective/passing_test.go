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

	"github.com/gokeras/gokeras/distribute/internal/numbers"
	"github.com/gokeras/gokeras/kernels/ir"
)

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

// beginRing has a socket land messages of the first of two workers in a ring over count numbers.
func beginRing(s *socket, count int) (*ring, *plan, []float32) {
	s.trusted.Store(true)
	data := make([]float32, count)
	p := plan{op: Sum, dtype: ir.Float32, rank: 0, n: 2, count: count}
	r := newRing(p, p.segmentBytes(1<<20))
	s.t.landing.begin(r, 5, &call{sequence: 7, hash: 99}, numbers.Bytes(data))
	return r, &p, data
}

// onesOf is a message of the ring, of stream 1, with bytes of one, as gRPC cuts it.
func onesOf(r *ring, round, index int) []byte {
	from, to := r.span(r.incoming(round), index)
	f := &frame{view: 5, sequence: 7, call: 99, round: uint32(round), index: uint32(index)}
	return ringMessage(f, bytes.Repeat([]byte{1}, to-from), slotBytes, nil)
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
			r, p, data := beginRing(s, count)
			for i := range data {
				data[i] = float32(i % 1000)
			}
			session, c := &session{}, &call{sequence: 7, hash: 99}
			random := rand.New(rand.NewPCG(1, 2))
			for _, round := range []uint32{0, 1, 0} {
				from, to := r.span(r.incoming(int(round)), 0)
				payload := make([]float32, (to-from)/4)
				for i := range payload {
					payload[i] = float32(i%7) + 0.5
				}
				target := numbers.Bytes(data)[from:to]
				want := slices.Clone(numbers.View[float32](target))
				for i := range want {
					if round == 1 {
						want[i] = 0
					}
					want[i] += payload[i]
				}
				f := &frame{view: 5, sequence: 7, call: 99, round: round}
				message := ringMessage(f, numbers.Bytes(payload), test.size, test.between, test.first...)
				sent := send(far, message, random, false)
				got, frames := readMessage(t, s)
				require.NoError(t, <-sent)
				require.Equal(t, to-from, got.size())
				if test.passes {
					require.Greater(t, frames, 1)
				} else {
					require.Equal(t, 1, frames)
					require.True(t, slices.Equal(want, numbers.View[float32](target)), "round %d", round)
				}
				if round == 0 {
					require.NoError(t, session.takeAdd(c, p, 1, got, target))
				} else {
					require.NoError(t, session.take(c, p, 1, got, target))
				}
				require.True(t, slices.Equal(want, numbers.View[float32](target)), "round %d", round)
			}
		})
	}
}

// What gRPC does not see is acknowledged to the sender all the same: once for the stream and once for the connection,
// between the frames that gRPC writes meanwhile.
func TestLandingAcknowledges(t *testing.T) {
	s, far := sockets(t)
	r, _, _ := beginRing(s, 4<<20)
	var message []byte
	bytes, messages := 0, r.segments(r.incoming(0))-1 // the last one may be short
	for i := range messages {
		from, to := r.span(r.incoming(0), i)
		bytes += to - from
		message = append(message, onesOf(r, 0, i)...)
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
	for _, round := range []int{0, 1} {
		const count = 400_000
		s, far := sockets(t)
		r, _, data := beginRing(s, count)
		message := onesOf(r, round, 0)
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
	r, _, _ := beginRing(s, 400_000)
	message := onesOf(r, 1, 0)
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
			r, _, _ := beginRing(s, 400_000)
			message := onesOf(r, 1, 0)
			cut := len(message) - len(message)%(frameHeader+slotBytes) // before the last frame, which is a short one
			require.Less(t, cut, len(message))
			_, err := far.Write(append(message[:cut:cut], append(slices.Clone(stray), make([]byte, slotBytes)...)...))
			require.NoError(t, err)
			_, _, err = readFrame(s)
			require.ErrorIs(t, err, errStrayFrame)
		})
	}
}
