package collective

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"strings"
	"time"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective/internal/membership"
	"github.com/gokeras/gokeras/internal/ports"
)

// Options say which worker this is and how the group behaves. Cluster and Task are required.
type Options struct {
	Cluster *cluster.Spec // chief and workers take part; other jobs do not
	Task    cluster.Task  // this worker
	Job     string        // name of the job; workers of other jobs are refused. "": follows from the cluster

	MinMembers int // fewest workers of a group; 0: all of the cluster. Below a majority, two parts of a network both go on
	MaxMembers int // most workers of a group; 0: all of the cluster

	// About is what errors on other workers say about this one, such as "on cuda:0, strategy made at train.go:20", at
	// most 500 bytes. All know it as soon as this worker waits for a group, and even after it is gone. "": they say
	// nothing
	About string

	HasState bool   // this worker brings the state of the training, as after a restart from a backup
	Step     uint64 // last completed step, if it has state

	Deadline    time.Duration // silence after which a worker counts as dead; 0: 5 s
	Heartbeat   time.Duration // between signs of life; 0: a tenth of Deadline
	JoinTimeout time.Duration // longest wait for a group; 0: 5 min
	Patience    time.Duration // how long Join waits for more than MinMembers; 0: 2 s
	Timeout     time.Duration // longest wait in one collective for members that are alive; 0: 10 min

	// Security is required if an address is not a loopback address. Without it any user of this machine can join, since
	// Job and Cluster, which identify the job, are not secret
	Security *Security
	Listener net.Listener // takes connections for this worker; nil: listen on its address. Closed by Close

	NoSharedMemory bool // use the network between workers of one host too
	SegmentBytes   int  // size of one message of a ring, up to 16 KiB more; 0: 512 KiB
	// SlowAfter is how long a collective waits before it names the missing workers to Observe, at least 200 ms; 0: 1 s
	SlowAfter time.Duration
	// Observe is called when groups form and end, when a worker keeps the others waiting for longer than SlowAfter, and
	// if a group has not formed after two deadlines. It must return soon and must not call methods of the group. nil:
	// not reported
	Observe func(text string)

	// Unheard is called at each heartbeat with the workers that have not left the job, but have sent nothing for
	// Deadline. It must return soon and must not call methods of the group. nil: not reported
	Unheard func(tasks []cluster.Task)

	version      int           // of the protocol that this worker claims to speak; 0: membership.Version. For tests
	portPatience time.Duration // wait for its address while another has it; 0: ports.Patience. For tests
}

const (
	maxSegmentBytes = 16 << 20
	maxControlBytes = membership.MaxMessage
	maxAbout        = 500
)

// settings are Options with defaults, checked.
type settings struct {
	Options
	members []cluster.Member
	self    int
	job     uint64
}

func (o Options) resolve() (*settings, error) {
	if o.Cluster.Empty() {
		return nil, errors.New("collective: Options.Cluster is empty; a single worker needs no group")
	}
	if err := cluster.Validate(o.Cluster, o.Task); err != nil {
		return nil, err
	}
	if o.Task.Type != cluster.Chief && o.Task.Type != cluster.Worker {
		return nil, fmt.Errorf("collective: task %v takes no part in training; only chief and workers do", o.Task)
	}
	members, err := cluster.Members(o.Cluster)
	if err != nil {
		return nil, err
	}
	self, err := cluster.IDInCluster(o.Cluster, o.Task)
	if err != nil {
		return nil, err
	}
	if len(members) > membership.MaxTasks {
		return nil, fmt.Errorf("collective: %d workers; at most %d are supported", len(members), membership.MaxTasks)
	}
	s := &settings{Options: o, members: members, self: self}
	defaults(&s.MinMembers, len(members))
	defaults(&s.MaxMembers, len(members))
	defaults(&s.Deadline, 5*time.Second)
	defaults(&s.Heartbeat, s.Deadline/10)
	defaults(&s.JoinTimeout, 5*time.Minute)
	defaults(&s.Patience, 2*time.Second)
	defaults(&s.Timeout, 10*time.Minute)
	defaults(&s.SlowAfter, time.Second)
	defaults(&s.version, membership.Version)
	defaults(&s.portPatience, ports.Patience)
	defaults(&s.SegmentBytes, 512<<10)
	switch {
	case s.MinMembers < 1 || s.MaxMembers > len(members) || s.MinMembers > s.MaxMembers:
		return nil, fmt.Errorf("collective: MinMembers %d and MaxMembers %d do not fit a cluster of %d", s.MinMembers, s.MaxMembers, len(members))
	case s.Deadline < 10*time.Millisecond || s.Heartbeat <= 0 || s.Heartbeat > s.Deadline/2:
		return nil, fmt.Errorf("collective: Deadline %v must be at least 10ms and Heartbeat %v at most half of it", s.Deadline, s.Heartbeat)
	case s.JoinTimeout < 0 || s.Patience < 0 || s.Timeout < 0:
		return nil, errors.New("collective: JoinTimeout, Patience and Timeout must not be negative")
	case s.SlowAfter < 2*patience:
		return nil, fmt.Errorf("collective: SlowAfter %v must be at least %v", s.SlowAfter, 2*patience)
	case s.SegmentBytes < 1024 || s.SegmentBytes > maxSegmentBytes:
		return nil, fmt.Errorf("collective: SegmentBytes %d is not between 1024 and %d", s.SegmentBytes, maxSegmentBytes)
	}
	s.SegmentBytes &^= 15
	s.About = strings.ToValidUTF8(s.About[:min(len(s.About), maxAbout)], "?")
	for _, m := range members {
		if s.Security == nil && !ports.Loopback(m.Address) {
			return nil, fmt.Errorf("collective: the address %s of %v is not a loopback address: workers of several machines need Options.Security, "+
				"with certificate files or a shared secret", m.Address, m.Task)
		}
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s\x00%v", s.Job, s.Cluster) // hashes do not fail
	s.job = h.Sum64()
	return s, nil
}

// jobText is what workers of other jobs are told about this job.
func (s *settings) jobText() string {
	text := fmt.Sprintf(": %v", s.Cluster)
	if s.Job != "" {
		text = fmt.Sprintf(": %q, %v", s.Job, s.Cluster)
	}
	if len(text) > maxAbout {
		text = strings.ToValidUTF8(text[:maxAbout], "") + "..."
	}
	return text
}

func defaults[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}
