//go:build linux

package cuda

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

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

// acquaint opens the memory of the devices to those that can reach it.
func (g *group) acquaint() error {
	api := g.backend.api
	for i, reader := range g.devices {
		g.reach = append(g.reach, make([]bool, len(g.devices)))
		for j, d := range g.devices {
			if i == j {
				g.reach[i][j] = true
				continue
			}
			can, r := api.CanAccessPeer(reader.Index, d.Index)
			err := reader.Err(r, "cuDeviceCanAccessPeer")
			if err == nil && can {
				err = d.enqueue(func() error { return d.Err(api.AllowPeer(d.Index, reader.Index), "cuMemPoolSetAccess") })
			}
			if err != nil {
				return err
			}
			g.reach[i][j] = can
			g.peers = g.peers && can
		}
	}
	return nil
}

// hidden reports whether a device cannot read a replica's memory.
func (g *group) hidden(replica int) bool {
	return slices.ContainsFunc(g.reach, func(row []bool) bool { return !row[replica] })
}
