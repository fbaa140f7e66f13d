//go:build linux

package fakenccl

import (
	"net"
	"net/rpc"

	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
)

// Serve lets processes that connect to a listener meet in the world. If a process ends, the others wait for it in vain.
// Serve returns when the listener is closed.
func (w *World) Serve(l net.Listener) error {
	s := rpc.NewServer()
	if err := s.RegisterName("World", &server{w}); err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return nil
		}
		go s.ServeConn(c)
	}
}

// Dial makes the libnccl of a process that uses the driver's devices and meets others in a world served by another
// process.
func Dial(network, address string, f *fakedriver.Fake) (*Library, error) {
	c, err := rpc.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return newLibrary(remote{c}, f), nil
}

// Message is a request to a world, Answer its reply.
type (
	Message struct {
		ID   nccl.ID
		Part part
		To   int
	}
	Answer struct {
		Number, Finalized int
		Wrong             string
		Data              []byte
		All               [][]byte
	}
)

// server answers requests from other processes.
type server struct{ w *World }

func (s *server) Draw(_ Message, a *Answer) error {
	a.Number = int(s.w.draw())
	return nil
}

func (s *server) Join(m Message, a *Answer) error {
	a.Wrong = s.w.join(m.ID, m.Part.Ranks)
	return nil
}

func (s *server) Counts(m Message, a *Answer) error {
	a.Number, a.Finalized = s.w.counts(m.ID)
	return nil
}

func (s *server) Finalize(m Message, _ *Answer) error {
	s.w.finalize(m.ID)
	return nil
}

func (s *server) Meet(m Message, a *Answer) error {
	a.All, a.Wrong = s.w.meet(m.ID, m.Part, nil)
	return nil
}

func (s *server) Send(m Message, _ *Answer) error {
	s.w.send(m.ID, m.Part.Rank, m.To, m.Part.Data)
	return nil
}

func (s *server) Receive(m Message, a *Answer) error {
	a.Data = s.w.receive(m.ID, m.Part.Rank, m.To, nil)
	return nil
}

// remote is a world in another process.
type remote struct{ c *rpc.Client }

// ask waits for an answer, or until over is closed. If the world is gone, it waits until over is closed.
func (r remote) ask(call string, m Message, over <-chan struct{}) Answer {
	var a Answer
	done := r.c.Go("World."+call, m, &a, make(chan *rpc.Call, 1)).Done
	select {
	case <-over:
		return Answer{}
	case c := <-done:
		if c.Error != nil {
			<-over
			return Answer{}
		}
		return a
	}
}

func (r remote) draw() uint32 { return uint32(r.ask("Draw", Message{}, nil).Number) }

func (r remote) join(id nccl.ID, ranks int) string {
	return r.ask("Join", Message{ID: id, Part: part{Ranks: ranks}}, nil).Wrong
}

func (r remote) counts(id nccl.ID) (joined, finalized int) {
	a := r.ask("Counts", Message{ID: id}, nil)
	return a.Number, a.Finalized
}

func (r remote) finalize(id nccl.ID) { r.ask("Finalize", Message{ID: id}, nil) }

func (r remote) meet(id nccl.ID, p part, over <-chan struct{}) ([][]byte, string) {
	a := r.ask("Meet", Message{ID: id, Part: p}, over)
	return a.All, a.Wrong
}

func (r remote) send(id nccl.ID, from, to int, data []byte) {
	r.ask("Send", Message{ID: id, Part: part{Rank: from, Data: data}, To: to}, nil)
}

func (r remote) receive(id nccl.ID, from, to int, over <-chan struct{}) []byte {
	return r.ask("Receive", Message{ID: id, Part: part{Rank: from}, To: to}, over).Data
}

func (r remote) wake() {}
