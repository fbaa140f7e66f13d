package main

import (
	"encoding/binary"
	"fmt"
)

const (
	tiles    = 8
	rows     = 16
	rowBytes = 64
)

// violation is an action that the manual forbids; its signal is SIGSEGV.
type violation string

func (v violation) Error() string { return "#GP: " + string(v) }

// memory is the memory of the program.
type memory interface {
	read(address uint64, data []byte) error
	write(address uint64, data []byte) error
}

// registers are the matrix registers of a thread.
type registers struct {
	configured bool
	height     [tiles]int // in rows
	width      [tiles]int // in bytes
	data       [tiles][rows][rowBytes]byte
}

// execute does what an instruction does to the tiles; the address and the stride are those of its memory operand.
func (r *registers) execute(i instruction, m memory, address, stride uint64) error {
	switch i.op {
	case loadConfig:
		var config [64]byte
		if err := m.read(address, config[:]); err != nil {
			return err
		}
		return r.configure(config)
	case storeConfig:
		config := r.configuration()
		return m.write(address, config[:])
	case release:
		*r = registers{}
		return nil
	}
	if !r.configured {
		return undefined(i.name + " without a configuration")
	}
	if err := r.usable(i.name, i.tile); err != nil {
		return err
	}
	t := &r.data[i.tile]
	switch i.op {
	case zeroTile:
		*t = [rows][rowBytes]byte{}
	case loadTile, loadTileHint:
		var loaded [rows][rowBytes]byte
		for row := range r.height[i.tile] {
			if err := m.read(address+uint64(row)*stride, loaded[row][:r.width[i.tile]]); err != nil {
				return err
			}
		}
		*t = loaded
	case storeTile:
		for row := range r.height[i.tile] {
			if err := m.write(address+uint64(row)*stride, t[row][:r.width[i.tile]]); err != nil {
				return err
			}
		}
	default:
		return r.multiply(i)
	}
	return nil
}

// configure is LDTILECFG.
func (r *registers) configure(config [64]byte) error {
	var next registers
	switch {
	case config[0] == 0:
		*r = next
		return nil
	case config[0] != 1:
		return violation(fmt.Sprintf("LDTILECFG of palette %d, there are 0 and 1", config[0]))
	case r.configured:
		return violation("LDTILECFG where tiles are configured: the kernel before this one has not released them")
	case config[1] != 0:
		return violation(fmt.Sprintf("LDTILECFG with start row %d, kernels start at 0", config[1]))
	}
	for at := range config {
		reserved := at >= 2 && at < 16 || at >= 16+2*tiles && at < 48 || at >= 48+tiles
		if reserved && config[at] != 0 {
			return violation(fmt.Sprintf("LDTILECFG with %d in the reserved byte %d", config[at], at))
		}
	}
	for t := range tiles {
		next.width[t], next.height[t] = int(binary.LittleEndian.Uint16(config[16+2*t:])), int(config[48+t])
		if next.width[t] > rowBytes || next.height[t] > rows || (next.width[t] == 0) != (next.height[t] == 0) {
			return violation(fmt.Sprintf("LDTILECFG of tile %d with %d rows of %d bytes", t, next.height[t], next.width[t]))
		}
	}
	next.configured = true
	*r = next
	return nil
}

// configuration returns what STTILECFG stores.
func (r *registers) configuration() (config [64]byte) {
	if r.configured {
		config[0] = 1
		for t := range tiles {
			binary.LittleEndian.PutUint16(config[16+2*t:], uint16(r.width[t]))
			config[48+t] = byte(r.height[t])
		}
	}
	return config
}

// usable checks that a tile has rows of whole numbers of 32 bits.
func (r *registers) usable(name string, t int) error {
	if r.height[t] == 0 || r.width[t] == 0 || r.width[t]%4 != 0 {
		return undefined(fmt.Sprintf("%s of tile %d, which has %d rows of %d bytes", name, t, r.height[t], r.width[t]))
	}
	return nil
}
