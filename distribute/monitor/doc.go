// Package monitor measures where a worker spends the time of training steps, and exports it to Prometheus.
//
// A step, from the end of the one before to its own end, has four phases:
//
//	input          until the batch is ready: reading, preparing, and callbacks
//	compute        the program of the step, without its collectives
//	communication  collectives while data moves or is added up
//	waiting        collectives while there is nothing to do until other workers come
//
// The slowest worker waits least; the others wait for it. Training calls [Monitor.Begin] and [Monitor.End] around each
// step; package keras/monitoring has a callback that does this in Fit, and keras fit --metrics-addr uses it. A
// [Source], such as a group of workers, reports the time in collectives, the traffic and the state of the group.
//
// [Monitor.Serve] listens on the loopback interface unless another address is given; the Monitor is also an
// http.Handler, for a program's existing server. The text contains no secrets, only the names of tasks, and is not
// encrypted.
//
//	gokeras_steps_total                      counter  steps done
//	gokeras_step_seconds_total{phase="..."}  counter  seconds of all steps, by phase
//	gokeras_last_step_seconds{phase="..."}   gauge    seconds of the last step, by phase
//	gokeras_sent_bytes_total                 counter  bytes written to sockets
//	gokeras_received_bytes_total             counter  bytes read from sockets
//	gokeras_group_generation                 gauge    number of the group; it grows whenever a group forms
//	gokeras_group_size                       gauge    workers in the group
//	gokeras_lost_workers_total               counter  workers that groups of this worker lost
//	gokeras_regroups_total                   counter  groups that formed after the first
//	gokeras_restarts_total                   counter  how often this worker was started again, where that is known
//
// Every sample has the label task, such as "worker:1".
package monitor
