package collective

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sockets returns two ends of a connection over the loopback interface: one as gRPC uses it, and a bare one.
func sockets(t *testing.T) (*socket, net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	near, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	far, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, far.SetDeadline(time.Now().Add(time.Minute)))
	s := newSocket(near, &transport{settings: new(settings)}, 0, nil)
	t.Cleanup(func() { _, _ = s.Close(), far.Close() })
	return s, far
}

func header(length int, kind byte, stream uint32) []byte {
	b := []byte{byte(length >> 16), byte(length >> 8), byte(length), kind, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(b[5:], stream)
	return b
}

// Whatever pieces and frames gRPC cuts messages of several streams into, all bytes arrive in order, and a message that
// is complete does not wait.
func TestSocketWrites(t *testing.T) {
	s, far := sockets(t)
	lent := &s.t.lent
	random := rand.New(rand.NewPCG(1, 2))
	type sender struct {
		stream uint32
		rest   []byte // of the message under way
	}
	senders := []*sender{{stream: 1}, {stream: 3}, {stream: 5}}
	var want []byte
	var total int64
	write := func(b []byte) {
		want = append(want, b...)
		total += int64(len(b))
		n, err := s.Write(b)
		require.NoError(t, err)
		require.Equal(t, len(b), n)
	}
	var memory [][]byte
	open := func() (count int) {
		for _, one := range senders {
			if len(one.rest) > 0 {
				count++
			}
		}
		return count
	}
	for turn := range 3000 {
		one := senders[random.IntN(len(senders))]
		if len(one.rest) == 0 {
			size := []int{0, 1, 27, 300, 5000, 40_000, 2 << 20}[random.IntN(7)]
			if turn > 2000 {
				size %= 50_000
			}
			message := make([]byte, prefixBytes+size)
			binary.BigEndian.PutUint32(message[1:], uint32(size))
			for i := range message[prefixBytes:] {
				message[prefixBytes+i] = byte(turn + i)
			}
			if random.IntN(3) > 0 {
				lent.add(message)
				memory = append(memory, message)
			}
			one.rest = message
		}
		frame := min(len(one.rest), []int{1, 4, 100, 16384}[random.IntN(4)])
		write(header(frame, 0, one.stream))
		for frame > 0 {
			piece := min(frame, []int{1, 5, 200, 16384}[random.IntN(4)])
			write(one.rest[:piece])
			one.rest = one.rest[piece:]
			frame -= piece
		}
		if random.IntN(10) == 0 { // a window update
			write(header(4, 8, 0))
			write([]byte{0, 0, 1, 0})
		}
		if open() == 0 || turn%100 == 99 {
			if open() > 0 {
				write(header(0, 4, 0)) // what is not data does not wait, nor what stands before it
			}
			got := make([]byte, len(want))
			_, err := io.ReadFull(far, got)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "turn %d", turn)
			want = want[:0]
		}
	}
	require.Equal(t, total, s.t.sent.Load())
	for _, m := range memory {
		lent.remove(m)
	}
	require.Empty(t, lent.ranges)
}

// Memory that was not lent, or only in part, is not referred to after Write has returned.
func TestSocketKeepsNothingElse(t *testing.T) {
	s, far := sockets(t)
	lent := &s.t.lent
	message := make([]byte, 2*1000)
	lent.add(message[:1500])
	for _, piece := range [][]byte{header(prefixBytes, 0, 1), {0, 0, 0, 7, 208}, header(1000, 0, 1)} { // a message of 2000 bytes
		_, err := s.Write(piece)
		require.NoError(t, err)
	}
	_, err := s.Write(message[600:1600])
	require.NoError(t, err)
	clear(message)
	for i := range message {
		message[i] = 1
	}
	got := make([]byte, 2*frameHeader+prefixBytes+1000)
	_, err = io.ReadFull(far, got)
	require.NoError(t, err)
	require.Equal(t, make([]byte, 1000), got[2*frameHeader+prefixBytes:], "what was written, not what came after")
	require.Empty(t, s.waiting)
}

// Segments that do not come in whole, aligned pieces give the same sum.
func TestTakeAddPieces(t *testing.T) {
	groups := join(t, 2, func(_ int, o *Options) { o.NoSharedMemory, o.SegmentBytes = true, 4096 })
	noErrors(t, together(groups, func(rank int, g *Group) error {
		for _, count := range []int{5000, 5001, 70_003} {
			x := make([]float32, count)
			for i := range x {
				x[i] = float32(i % 1000 * (rank + 1))
			}
			if err := g.AllReduce(background(), Sum, []Tensor{Of(x)}); err != nil {
				return err
			}
			for i := range x {
				require.Equal(t, float32(i%1000*3), x[i])
			}
		}
		return nil
	}))
}

// addressed is a connection of which only the addresses matter.
type addressed struct {
	net.Conn
	near, far net.Addr
}

func (a addressed) LocalAddr() net.Addr  { return a.near }
func (a addressed) RemoteAddr() net.Addr { return a.far }

func TestSameHost(t *testing.T) {
	at := func(ip string, port int) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: port} }
	for _, test := range []struct {
		near, far net.Addr
		want      bool
	}{
		{at("127.0.0.1", 1), at("127.0.0.1", 2), true},
		{at("10.0.0.7", 1), at("10.0.0.7", 2), true},
		{at("10.0.0.7", 1), at("::ffff:10.0.0.7", 2), true},
		{at("10.0.0.7", 1), at("10.0.0.8", 1), false},
		{&net.UnixAddr{Name: "a"}, &net.UnixAddr{Name: "a"}, false},
	} {
		require.Equal(t, test.want, sameHost(addressed{near: test.near, far: test.far}), "%v %v", test.near, test.far)
	}
}
