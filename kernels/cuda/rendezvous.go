//go:build linux

package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
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

// offer is what a process tells the others before they connect: the version of NCCL, the id where it is the first one,
// and what is wrong.
type offer struct {
	version int
	id      nccl.ID
	problem string
}

func (f offer) encode() []byte {
	data := binary.LittleEndian.AppendUint64(nil, uint64(f.version))
	return append(append(data, f.id[:]...), f.problem...)
}

func decodeOffer(data []byte) (f offer, err error) {
	if len(data) < 8+nccl.IDBytes {
		return f, fmt.Errorf("%d bytes, expected %d or more", len(data), 8+nccl.IDBytes)
	}
	f.version = int(binary.LittleEndian.Uint64(data))
	copy(f.id[:], data[8:])
	f.problem = string(data[8+nccl.IDBytes:])
	return f, nil
}

// rendezvous makes sure that all processes have the same NCCL, and returns the id that the first one has drawn. All
// come to the same end. If NCCL was not asked for, its absence is [errors.ErrUnsupported].
func (b *backend) rendezvous(ctx context.Context, o kernels.CommunicatorOptions) (nccl.ID, error) {
	var own offer
	api, err := b.library()
	if err == nil {
		var r nccl.Result
		own.version, r = api.Version()
		err = nccl.Check(api, r, "ncclGetVersion", "")
		if err == nil && o.First == 0 {
			own.id, r = api.UniqueID()
			err = nccl.Check(api, r, "ncclGetUniqueId", "")
		}
	}
	if o.Exchange == nil {
		if o.Total() != len(o.Devices) {
			err = errors.Join(err, fmt.Errorf("cuda: connecting %d replicas of this process with %d in all needs a way to exchange messages, received none", len(o.Devices), o.Total()))
		}
		return own.id, err
	}
	if err != nil {
		own.problem = err.Error()
	}
	all, failed := o.Exchange(ctx, own.encode())
	if failed != nil {
		return own.id, failed
	}
	id, problem := own.id, error(nil)
	version := 0
	for rank, data := range all {
		f, wrong := decodeOffer(data)
		switch {
		case wrong != nil:
			problem = fmt.Errorf("cuda: worker %d tells of NCCL in a form that is not understood (%w); all workers need the same program", rank, wrong)
		case f.problem != "":
			problem = fmt.Errorf("cuda: worker %d cannot use NCCL: %s; there, or choose another implementation than NCCL", rank, f.problem)
		case rank > 0 && f.version != version:
			problem = fmt.Errorf("cuda: NCCL is version %s on worker 0 and %s on worker %d; all workers need the same one", nccl.Version(version), nccl.Version(f.version), rank)
		}
		if problem != nil {
			break
		}
		if rank == 0 {
			id, version = f.id, f.version
		}
	}
	if problem != nil && o.Library == "" {
		return id, fmt.Errorf("%w: %w", problem, errors.ErrUnsupported)
	}
	return id, problem
}
