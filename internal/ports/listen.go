package ports

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"
	"time"
)

// Patience is how long processes wait for an address that is in use: its previous owner may be about to end, like a
// killed worker whose memory is still being freed.
const Patience = 5 * time.Second

// Listen opens a TCP address. While another socket has it, it tries again, for patience at most. The error then says
// for how long it tried, which process has the address if that can be found out, and what to do. It also tries again
// while the host name is unknown or leads elsewhere, as for a container that has just been restarted.
func Listen(ctx context.Context, address string, patience time.Duration) (net.Listener, error) {
	pause := 20 * time.Millisecond
	var config net.ListenConfig
	var busy error
	named := isName(address)
	for began := time.Now(); ; {
		l, err := config.Listen(ctx, "tcp", address)
		if err == nil {
			return l, nil
		}
		elsewhere := errors.Is(err, syscall.EADDRNOTAVAIL)
		if inUse(err) || named && ctx.Err() == nil && (elsewhere || unknown(err)) {
			if busy = err; !inUse(err) {
				pause = 200 * time.Millisecond
			}
		} else if elsewhere {
			return nil, fmt.Errorf("%w: this machine has no such address; is it that of a task which runs elsewhere?", err)
		} else if busy == nil || ctx.Err() == nil {
			return nil, err
		}
		waited := time.Since(began)
		if waited+pause > patience {
			return nil, fmt.Errorf("%w, for %v so far; %s", busy, waited.Round(time.Millisecond), advice(address, busy))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w, for %v until %w; %s", busy, waited.Round(time.Millisecond), context.Cause(ctx), advice(address, busy))
		}
	}
}

// isName reports whether the host of an address is to be looked up.
func isName(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && host != "" && net.ParseIP(host) == nil
}

// unknown reports whether a name could not be looked up.
func unknown(err error) bool {
	var failed *net.DNSError
	return errors.As(err, &failed)
}

// inUse reports whether an address could not be opened because it is open.
func inUse(err error) bool {
	const windows = syscall.Errno(10_048) // WSAEADDRINUSE
	return errors.Is(err, syscall.EADDRINUSE) || runtime.GOOS == "windows" && errors.Is(err, windows)
}

// advice says who has the address and what to do.
func advice(address string, busy error) string {
	if !inUse(busy) {
		return "the name of this task's host must lead to this machine; is it that of a task which runs elsewhere?"
	}
	who := holder(address)
	if who == "" {
		who = "another process has it, perhaps of another user or container"
	}
	return who + "; perhaps a task of the same job that was given the same address, one of a job that has not ended, or another program; end that, or give this task another port"
}
