//go:build linux

package cuda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nvml"
)

// library loads NCCL once.
func (b *backend) library() (nccl.API, error) {
	b.loading.Do(func() {
		if b.nccl, b.ncclErr = b.openNCCL(); b.ncclErr != nil {
			return
		}
		version, r := b.nccl.Version()
		if b.ncclErr = nccl.Check(b.nccl, r, "ncclGetVersion", ""); b.ncclErr == nil && version < nccl.MinimumVersion {
			b.ncclErr = fmt.Errorf("nccl: version %s is too old; install %s or later", nccl.Version(version), nccl.Version(nccl.MinimumVersion))
		}
	})
	return b.nccl, b.ncclErr
}

// CheckLibrary returns an error that says why NCCL cannot combine values.
func (b *backend) CheckLibrary(name string) error {
	if name != kernels.NCCL {
		return fmt.Errorf("cuda: values cannot be combined by %q; expected %q", name, kernels.NCCL)
	}
	_, err := b.library()
	return err
}

// NCCL is the version of the library that was found, "2.29.7". The error says why there is none, and what to do about
// it.
func NCCL() (string, error) { return own.ncclVersion() }

func (b *backend) ncclVersion() (string, error) {
	api, err := b.library()
	if err != nil {
		return "", err
	}
	v, r := api.Version()
	return nccl.Version(v), nccl.Check(api, r, "ncclGetVersion", "")
}

// offer is what a process tells the others before they connect, as JSON.
type offer struct {
	Version int
	ID      []byte   // drawn by the first process
	Problem string   // what is wrong
	Host    string   // where it runs
	Site    string   // where its strategy was made
	Capture bool     // NCCL takes part in graphs that span several devices
	Devices []string // as the process calls them
	Cards   []string // their PCI addresses
	Window  bool     // it can meet processes of its host through memory that they open to each other
}

// found is what processes have found out about each other.
type found struct {
	id      nccl.ID
	problem error // why NCCL cannot be used
	windows bool  // windows can be used, as far as is known
	offers  []offer
}

func decodeOffer(data []byte) (f offer, err error) {
	if err = json.Unmarshal(data, &f); err == nil && (len(f.ID) != nccl.IDBytes || len(f.Cards) != len(f.Devices)) {
		err = fmt.Errorf("an id of %d bytes and %d addresses of %d devices", len(f.ID), len(f.Cards), len(f.Devices))
	}
	return f, err
}

// thisHost identifies the machine, also inside containers, whose processes see the same kernel.
func thisHost() string {
	name, _ := os.Hostname() // without a name, the boot id tells hosts apart
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return name + " " + strings.TrimSpace(string(boot))
}

// offer is what this process has. Its id has the right length even if something is wrong.
func (b *backend) offer(o kernels.CommunicatorOptions) (f offer, err error) {
	f.ID, f.Host, f.Site, f.Capture = make([]byte, nccl.IDBytes), b.host(), o.Site, o.Captured
	f.Window = o.Library == "" && len(o.Devices) == 1 && o.Total() <= mostRanks
	api, err := b.library()
	if err == nil {
		var r nccl.Result
		f.Version, r = api.Version()
		err = nccl.Check(api, r, "ncclGetVersion", "")
	}
	if err == nil && o.First == 0 {
		id, r := api.UniqueID()
		f.ID, err = id[:], nccl.Check(api, r, "ncclGetUniqueId", "")
	}
	for _, name := range o.Devices {
		d, failed := b.device(name)
		if failed != nil {
			return f, errors.Join(err, failed)
		}
		f.Devices, f.Cards = append(f.Devices, name.String()), append(f.Cards, nvml.BusOf(d.Facts.Domain, d.Facts.Bus, d.Facts.BusDevice))
	}
	return f, err
}

// sharedCard looks for a GPU that replicas of two processes use; with one, NCCL would wait forever.
func sharedCard(all []offer) error {
	type user struct {
		rank   int
		device string
	}
	users := map[string]user{}
	for rank, f := range all {
		for i, card := range f.Cards {
			key := f.Host + " " + card
			if before, taken := users[key]; taken {
				return fmt.Errorf("cuda: %s of worker %d%s and %s of worker %d%s are one GPU, %s of host %s; each replica needs a GPU of its own: name another device, or start the workers with CUDA_VISIBLE_DEVICES or \"keras launch --devices-per-worker 1\"",
					before.device, before.rank, all[before.rank].madeAt(), f.Devices[i], rank, f.madeAt(), card, f.hostName())
			}
			users[key] = user{rank, f.Devices[i]}
		}
	}
	return nil
}

// rendezvous determines whether all processes have the same NCCL, whose id the first one has drawn, and whether they
// are on one host. All come to the same conclusion. If NCCL was not requested, its absence is [errors.ErrUnsupported].
func (b *backend) rendezvous(ctx context.Context, o kernels.CommunicatorOptions) (found, error) {
	own, err := b.offer(o)
	if o.Exchange == nil {
		if o.Total() != len(o.Devices) {
			err = errors.Join(err, fmt.Errorf("cuda: connecting %d replicas of this process with %d in all needs a way to exchange messages, received none", len(o.Devices), o.Total()))
		}
		return found{id: nccl.ID(own.ID)}, err
	}
	if err != nil {
		own.Problem = err.Error()
	}
	data, err := json.Marshal(own)
	if err != nil {
		return found{}, err
	}
	all, failed := o.Exchange(ctx, data)
	if failed != nil {
		return found{}, failed
	}
	var offers []offer
	for rank, data := range all {
		f, wrong := decodeOffer(data)
		if wrong != nil {
			return found{}, unasked(o, fmt.Errorf("cuda: worker %d tells of NCCL in a form that is not understood (%w); all workers need the same program", rank, wrong))
		}
		offers = append(offers, f)
	}
	if err := capturing(offers); err != nil {
		return found{}, err
	}
	var shared error
	if !b.sharing {
		shared = sharedCard(offers)
	}
	out := found{id: nccl.ID(offers[0].ID), problem: differing(offers), windows: shared == nil, offers: offers}
	for _, f := range offers {
		out.windows = out.windows && f.Window && f.Host == offers[0].Host
	}
	if out.problem == nil {
		out.problem = shared
	}
	if out.problem = unasked(o, out.problem); out.windows {
		return out, nil
	}
	return out, out.problem
}

// unasked marks an error as unsupported if NCCL was not requested.
func unasked(o kernels.CommunicatorOptions, err error) error {
	if err != nil && o.Library == "" {
		err = fmt.Errorf("%w: %w", err, errors.ErrUnsupported)
	}
	return err
}

// who names a process, with its devices and where its strategy was made.
func (f *offer) who(rank int) string {
	return fmt.Sprintf("worker %d (%s of host %s%s)", rank, strings.Join(f.Devices, ", "), f.hostName(), f.madeAt())
}

func (f *offer) madeAt() string {
	if f.Site == "" {
		return ""
	}
	return ", strategy made at " + f.Site
}

func (f *offer) hostName() string { return strings.Fields(f.Host + " ?")[0] }

// capturing says which processes differ in whether NCCL takes part in graphs.
func capturing(offers []offer) error {
	for rank, f := range offers {
		if f.Capture != offers[0].Capture {
			return fmt.Errorf("cuda: Captured is %v on %s and %v on %s; all workers need the same", offers[0].Capture, offers[0].who(0), f.Capture, f.who(rank))
		}
	}
	return nil
}

// differing says which process has no NCCL, or another one.
func differing(offers []offer) error {
	for rank, f := range offers {
		switch {
		case f.Problem != "":
			return fmt.Errorf("cuda: %s cannot use NCCL: %s; there, or choose another implementation than NCCL", f.who(rank), f.Problem)
		case f.Version != offers[0].Version:
			return fmt.Errorf("cuda: NCCL is version %s on %s and %s on %s; all workers need the same one", nccl.Version(offers[0].Version), offers[0].who(0), nccl.Version(f.Version), f.who(rank))
		}
	}
	return nil
}
