//go:build linux

package cuda

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
)

// Each kernel is a module of its own on a device, shared by all programs that have it: training and evaluation share
// those of the layers. A missing kernel is read from the folder of compiled kernels, or compiled by the driver, several
// at once.

// kernel is a kernel on a device.
type kernel struct {
	module, function driver.Handle
	users            int // programs
}

// making is a kernel that is being made.
type making struct {
	ptx.Entry
	binary []byte // nil: the driver does not return what it compiles
	kept   bool   // binary was read from the folder
}

// load makes the kernels of a program's text usable, and returns them by their names there.
func (d *device) load(program, text string) (functions map[string]driver.Handle, texts []string, err error) {
	d.loading.Lock()
	defer d.loading.Unlock()
	entries := ptx.Split(text)
	var missing []*making
	asked := map[string]bool{}
	for _, e := range entries {
		if d.kernels[e.Text] == nil && !asked[e.Text] {
			asked[e.Text] = true
			missing = append(missing, &making{Entry: e})
		}
	}
	if err := d.assemble(missing); err != nil {
		return nil, nil, err
	}
	err = d.enqueue(func() error {
		for _, m := range missing {
			k, err := d.make(m, program)
			if err != nil {
				return err
			}
			d.kernels[m.Text] = k
		}
		return nil
	})
	functions = map[string]driver.Handle{}
	for _, e := range entries {
		if k := d.kernels[e.Text]; k != nil {
			k.users++
			functions[e.Name] = k.function
			texts = append(texts, e.Text)
		}
	}
	if err != nil {
		d.unloadLocked(texts)
		return nil, nil, err
	}
	return functions, texts, nil
}

// assemble finds or compiles kernels.
func (d *device) assemble(all []*making) error {
	var workers sync.WaitGroup
	work := make(chan *making)
	failures := make(chan error, 1)
	for range min(len(all), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			if err := d.Enter(); err != nil {
				select {
				case failures <- err:
				default:
				}
				for range work { // no kernel may be waiting
				}
				return
			}
			defer d.Leave()
			for m := range work {
				if m.binary = d.kept.Get(d.key(m.Text)); m.binary != nil {
					m.kept = true
				} else {
					m.binary = d.compile(m.Text)
				}
			}
		})
	}
	for _, m := range all {
		work <- m
	}
	close(work)
	workers.Wait()
	select {
	case err := <-failures:
		return err
	default:
	}
	_ = d.kept.Trim() // a kernel that cannot be stored is compiled again
	return nil
}

// compile returns the driver's binary for a text, and stores it; nil if the driver does not return binaries.
func (d *device) compile(text string) []byte {
	binary, _, r := d.API.Assemble(text)
	if r != driver.Success {
		return nil // if this is a real error, LoadModule returns it
	}
	_ = d.kept.Put(d.key(text), binary)
	return binary
}

// key says what a compiled kernel depends on.
func (d *device) key(text string) string {
	return fmt.Sprintf("%s\n%d\n%d\n%s", d.Facts.Name, d.Facts.Capability, d.Facts.Driver, text)
}

// make loads a kernel; the caller has the context.
func (d *device) make(m *making, program string) (*kernel, error) {
	k := &kernel{}
	r := driver.NoBinary
	if m.binary != nil {
		k.module, r = d.API.LoadBinary(m.binary)
	}
	if unfit(r) && m.kept { // for another machine, whatever the key says
		d.kept.Drop(d.key(m.Text))
		if m.binary = d.compile(m.Text); m.binary != nil {
			k.module, r = d.API.LoadBinary(m.binary)
		}
	}
	log := ""
	if unfit(r) {
		k.module, log, r = d.API.LoadModule(m.Text)
	}
	if r != driver.Success {
		return nil, d.orLost(driver.Check(d.API, r, "cuModuleLoadDataEx", "program %q on %v: %s", program, d.name, log))
	}
	if k.function, r = d.API.Function(k.module, m.Alone); r != driver.Success {
		err := driver.Check(d.API, r, "cuModuleGetFunction", "%s of program %q", m.Name, program)
		d.API.UnloadModule(k.module)
		return nil, d.orLost(err)
	}
	return k, nil
}

// unfit reports whether the driver cannot use what it was given as a compiled kernel.
func unfit(r driver.Result) bool {
	const invalidImage = 200
	return r == invalidImage || r == driver.NoBinary
}

// unload releases kernels that no other program has.
func (d *device) unload(texts []string) {
	d.loading.Lock()
	defer d.loading.Unlock()
	d.unloadLocked(texts)
}

func (d *device) unloadLocked(texts []string) {
	var last []*kernel
	for _, text := range texts {
		k := d.kernels[text]
		if k.users--; k.users == 0 {
			last = append(last, k)
			delete(d.kernels, text)
		}
	}
	d.enqueue(func() error {
		err := d.trim() // launches may be in progress
		for _, k := range last {
			d.API.UnloadModule(k.module)
		}
		return err
	})
}
