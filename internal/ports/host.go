package ports

import "net"

// Loopback reports whether an address, HOST:PORT, can be reached only from this machine.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Neighbours returns how many of all addresses are on the host of one of them, including that one: their host names are
// equal, or both can be reached only from this machine.
func Neighbours(own string, all []string) (n int) {
	for _, address := range all {
		if hostOf(address) == hostOf(own) {
			n++
		}
	}
	return n
}

func hostOf(address string) string {
	if Loopback(address) {
		return "localhost"
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
