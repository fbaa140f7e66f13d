// Package namespaces creates small networks for tests on Linux: each host is a network namespace of this process with
// its own TUN device, and all traffic between the devices passes through this package, which delays, drops and reorders
// packets, bounds their rate and cuts links. No kernel facility (netem, bridges, veth) and no other program is needed,
// and nothing outlives the process that created the network. It needs root and /dev/net/tun; [Available] says what is
// missing.
//
// Hosts have the addresses 10.77.0.1, 10.77.0.2 and so on. Programs are started on a host with [Network.Start].
package namespaces
