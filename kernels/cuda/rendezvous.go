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

// CheckLibrary reports why values cannot be combined by NCCL.
func (b *backend) CheckLibrary(name string) error {
	if name != kernels.NCCL {
		return fmt.Errorf("cuda: values cannot be combined by %q; expected %q", name, kernels.NCCL)
	}
	_, err := b.library()
	return err
}

// NCCL is the version of the library that is found, "2.29.7". The error says why there is none, and what to do about
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
	Devices []string // as the process calls them
	Cards   []string // their PCI addresses
}

func decodeOffer(data []byte) (f offer, err error) {
	if err = json.Unmarshal(data, &f); err == nil && (len(f.ID) != nccl.IDBytes || len(f.Cards) != len(f.Devices)) {
		err = fmt.Errorf("an id of %d bytes and %d addresses of %d devices", len(f.ID), len(f.Cards), len(f.Devices))
	}
	return f, err
}

// thisHost names the machine, also inside of containers, whose processes see one kernel.
func thisHost() string {
	name, _ := os.Hostname() // without one the boot tells hosts apart
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return name + " " + strings.TrimSpace(string(boot))
}

// offer is what this process has. Its id is of the right length also where something is wrong.
func (b *backend) offer(o kernels.CommunicatorOptions) (f offer, err error) {
	f.ID = make([]byte, nccl.IDBytes)
	api, err := b.library()
	if err != nil {
		return f, err
	}
	var r nccl.Result
	f.Version, r = api.Version()
	err = nccl.Check(api, r, "ncclGetVersion", "")
	if err == nil && o.First == 0 {
		var id nccl.ID
		id, r = api.UniqueID()
		f.ID, err = id[:], nccl.Check(api, r, "ncclGetUniqueId", "")
	}
	f.Host = b.host()
	for _, name := range o.Devices {
		d, failed := b.device(name)
		if failed != nil {
			return f, errors.Join(err, failed)
		}
		f.Devices, f.Cards = append(f.Devices, name.String()), append(f.Cards, nvml.BusOf(d.Facts.Domain, d.Facts.Bus, d.Facts.BusDevice))
	}
	return f, err
}

// sharedCard looks for a GPU that replicas of two processes have; NCCL would wait for one of them.
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
				return fmt.Errorf("cuda: %s of worker %d and %s of worker %d are one GPU, %s of host %s; each replica needs a GPU of its own: name another device, or start the workers with CUDA_VISIBLE_DEVICES or \"keras launch --devices-per-worker 1\"",
					before.device, before.rank, f.Devices[i], rank, card, strings.Fields(f.Host + " ?")[0])
			}
			users[key] = user{rank, f.Devices[i]}
		}
	}
	return nil
}

// rendezvous makes sure that all processes have the same NCCL, and returns the id that the first one has drawn. All
// come to the same end. If NCCL was not asked for, its absence is [errors.ErrUnsupported].
func (b *backend) rendezvous(ctx context.Context, o kernels.CommunicatorOptions) (nccl.ID, error) {
	own, err := b.offer(o)
	if o.Exchange == nil {
		if o.Total() != len(o.Devices) {
			err = errors.Join(err, fmt.Errorf("cuda: connecting %d replicas of this process with %d in all needs a way to exchange messages, received none", len(o.Devices), o.Total()))
		}
		return nccl.ID(own.ID), err
	}
	if err != nil {
		own.Problem = err.Error()
	}
	data, err := json.Marshal(own)
	if err != nil {
		return nccl.ID{}, err
	}
	all, failed := o.Exchange(ctx, data)
	if failed != nil {
		return nccl.ID{}, failed
	}
	var offers []offer
	var problem error
	for rank, data := range all {
		f, wrong := decodeOffer(data)
		offers = append(offers, f)
		switch {
		case wrong != nil:
			problem = fmt.Errorf("cuda: worker %d tells of NCCL in a form that is not understood (%w); all workers need the same program", rank, wrong)
		case f.Problem != "":
			problem = fmt.Errorf("cuda: worker %d cannot use NCCL: %s; there, or choose another implementation than NCCL", rank, f.Problem)
		case f.Version != offers[0].Version:
			problem = fmt.Errorf("cuda: NCCL is version %s on worker 0 and %s on worker %d; all workers need the same one", nccl.Version(offers[0].Version), nccl.Version(f.Version), rank)
		}
		if problem != nil {
			break
		}
	}
	if problem == nil {
		problem = sharedCard(offers)
	}
	switch {
	case problem == nil:
		return nccl.ID(offers[0].ID), nil
	case o.Library == "":
		problem = fmt.Errorf("%w: %w", problem, errors.ErrUnsupported)
	}
	return nccl.ID{}, problem
}
