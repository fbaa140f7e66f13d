package monitor

import "net"

// Patient wraps a listener as Serve does.
func Patient(l net.Listener) net.Listener { return patient{l} }
