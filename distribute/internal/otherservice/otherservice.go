// Package otherservice provides services, for tests, that listen at the address of a task but belong to no job.
package otherservice

import (
	"net"
	"net/http"
	"testing"

	"google.golang.org/grpc"
)

// Kinds lists the services that [Serve] knows.
func Kinds() []string { return []string{"HTTP", "SSH", "zeros", "gRPC"} }

// Serve serves on a listener until the test ends.
func Serve(t testing.TB, kind string, l net.Listener) {
	t.Helper()
	t.Cleanup(func() { _ = l.Close() }) // it may be closed already
	switch kind {
	case "HTTP":
		go func() { _ = http.Serve(l, http.NotFoundHandler()) }() // ends with the listener
	case "gRPC":
		s := grpc.NewServer()
		t.Cleanup(s.Stop)
		go func() { _ = s.Serve(l) }() // ends with the server
	case "SSH":
		go greet(l, func(c net.Conn) error {
			_, err := c.Write([]byte("SSH-2.0-OpenSSH_9.9\r\n"))
			if err == nil {
				_, err = c.Read(make([]byte, 1<<16))
			}
			return err
		})
	case "zeros":
		go greet(l, func(c net.Conn) error {
			_, err := c.Write(make([]byte, 1<<12))
			return err
		})
	default:
		t.Fatalf("no service %q; expected one of %q", kind, Kinds())
	}
}

// greet calls do for each connection until it fails.
func greet(l net.Listener, do func(c net.Conn) error) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for do(c) == nil {
			}
		}()
	}
}
