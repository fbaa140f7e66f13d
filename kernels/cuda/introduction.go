//go:build linux

package cuda

import "github.com/gokeras/gokeras/kernels/cuda/internal/driver"

// introduce opens the devices' memory to each other.
func (g *group) introduce() error {
	if err := g.acquaint(); err != nil {
		return err
	}
	return g.makeEvents()
}

// makeEvents makes the events by which streams wait for each other.
func (g *group) makeEvents() error {
	for _, d := range g.devices {
		err := d.enqueue(func() error {
			e, r := d.API.NewEvent()
			if r == driver.Success {
				g.events = append(g.events, e)
			}
			return d.Err(r, "cuEventCreate")
		})
		if err != nil {
			g.release()
			return err
		}
	}
	return nil
}

// acquaint opens the memory of the devices to each other, where all of them can.
func (g *group) acquaint() error {
	api := g.backend.api
	each := func(f func(a, b *device) error) error {
		for _, a := range g.devices {
			for _, b := range g.devices {
				if a != b {
					if err := f(a, b); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	err := each(func(a, b *device) error {
		can, r := api.CanAccessPeer(a.Index, b.Index)
		g.peers = g.peers && can
		return a.Err(r, "cuDeviceCanAccessPeer")
	})
	if err != nil || !g.peers {
		return err
	}
	return each(func(a, b *device) error {
		return a.enqueue(func() error { return a.Err(api.AllowPeer(a.Index, b.Index), "cuMemPoolSetAccess") })
	})
}
