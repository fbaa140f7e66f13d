// Package namespaces makes small networks for tests on Linux: each host is a network namespace of this process with a
// TUN device of its own, and what passes between the devices goes through this package, which delays, loses and
// reorders packets and pulls links. No rule of the kernel's (netem, bridges, veth) and no program is needed, and
// nothing outlives the process that made the network. It needs root and /dev/net/tun; [Available] says what is missing.
//
// Hosts have the addresses 10.77.0.1, 10.77.0.2 and so on. Programs are started on a host with [Network.Start].
package namespaces
