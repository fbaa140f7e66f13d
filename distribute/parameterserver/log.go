package parameterserver

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
)

// store keeps a server's state in files: snapshot-N, and log-N with the commands since then. A record of the log is a
// header with its length and checksum, and a command. The last record may be torn; then it was not acknowledged.
type store struct {
	directory string
	sync      bool
	number    uint64
	log       *os.File
	size      int64
	header    [8]byte
}

const snapshotMagic = "gokeras parameter server snapshot\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openStore reads a server's stored state, or starts a new one. identity stays the same as long as the state continues.
func openStore(directory string, sync bool, limits protocol.Limits) (*store, *protocol.State, uint64, error) {
	if directory == "" {
		return nil, protocol.NewState(limits), newIdentity(), nil
	}
	fail := func(err error) (*store, *protocol.State, uint64, error) {
		return nil, nil, 0, fmt.Errorf("parameterserver: the directory %s: %w", directory, err)
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fail(err)
	}
	s := &store{directory: directory, sync: sync}
	newest, err := s.newest()
	if err != nil {
		return fail(err)
	}
	s.removeTorn()
	state, identity := protocol.NewState(limits), newIdentity()
	whole := int64(0) // bytes of the log
	if newest > 0 {
		if state, identity, err = readSnapshot(s.path("snapshot", newest), limits); err != nil {
			return fail(err)
		}
		if whole, err = replay(s.path("log", newest), state); err != nil {
			return fail(err)
		}
		s.removeBefore(newest)
	}
	s.number = newest
	err = s.snapshot(state, identity) // begins a new log, without a torn end
	if err != nil && newest > 0 {     // there may be no room for two snapshots, as for a server that runs
		if again := s.goOn(whole); again != nil {
			err = errors.Join(err, again)
		} else {
			err = nil
		}
	}
	if err != nil {
		return fail(err)
	}
	return s, state, identity, nil
}

// goOn continues the existing log, overwriting its torn end.
func (s *store) goOn(whole int64) error {
	log, err := os.OpenFile(s.path("log", s.number), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err = log.Truncate(whole); err == nil {
		_, err = log.Seek(whole, io.SeekStart)
	}
	if err != nil {
		return errors.Join(err, log.Close())
	}
	s.log, s.size = log, whole
	return nil
}

// removeTorn removes snapshots that a killed process has not finished writing.
func (s *store) removeTorn() {
	list, _ := filepath.Glob(filepath.Join(s.directory, "tmp-*")) // only room is lost
	for _, path := range list {
		_ = os.Remove(path)
	}
}

// removeBefore removes older snapshots and logs that a killed process has not removed.
func (s *store) removeBefore(newest uint64) {
	for _, kind := range []string{"snapshot", "log"} {
		list, _ := filepath.Glob(filepath.Join(s.directory, kind+"-*")) // only room is lost
		for _, path := range list {
			if n, ok := numberOf(filepath.Base(path), kind); ok && n < newest {
				_ = os.Remove(path)
			}
		}
	}
}

// numberOf returns the number in the name of a file of the given kind.
func numberOf(name, kind string) (n uint64, ok bool) {
	text, ok := strings.CutPrefix(name, kind+"-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

func newIdentity() uint64 { return rand.Uint64() | 1 }

func (s *store) path(kind string, n uint64) string {
	return filepath.Join(s.directory, kind+"-"+strconv.FormatUint(n, 10))
}

// newest returns the number of the newest snapshot, 0 if there is none.
func (s *store) newest() (uint64, error) {
	entries, err := os.ReadDir(s.directory)
	var newest uint64
	for _, e := range entries {
		if n, ok := numberOf(e.Name(), "snapshot"); ok {
			newest = max(newest, n)
		}
	}
	return newest, err
}

// snapshot writes the state, begins a new log, and removes the previous snapshot and log.
func (s *store) snapshot(state *protocol.State, identity uint64) error {
	n := s.number + 1
	if err := s.writeSnapshot(s.path("snapshot", n), state, identity); err != nil {
		return err
	}
	log, err := os.OpenFile(s.path("log", n), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err == nil && s.sync { // a machine that crashes may forget the new names, not only what is in the files
		if err = syncDirectory(s.directory); err != nil {
			err = errors.Join(err, log.Close(), os.Remove(log.Name()))
		}
	}
	if err != nil { // the log before goes on, so nobody may begin with this snapshot
		return errors.Join(err, os.Remove(s.path("snapshot", n)))
	}
	if s.log != nil {
		_ = s.log.Close() // its contents are in the snapshot
	}
	_ = os.Remove(s.path("snapshot", s.number)) // only room is lost
	_ = os.Remove(s.path("log", s.number))
	s.log, s.number, s.size = log, n, 0
	return nil
}

// writeSnapshot writes a file that appears only when it is complete.
func (s *store) writeSnapshot(path string, state *protocol.State, identity uint64) (err error) {
	f, err := os.CreateTemp(s.directory, "tmp-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error is the one to report
		}
	}()
	sum := crc32.New(castagnoli)
	out := bufio.NewWriterSize(io.MultiWriter(f, sum), 1<<20)
	_, err = fmt.Fprintf(out, "%s", snapshotMagic)
	if err == nil {
		err = binary.Write(out, binary.LittleEndian, identity)
	}
	if err == nil {
		w := protocol.NewWriter(out)
		state.EncodeSnapshot(w)
		err = w.Flush()
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = binary.Write(f, binary.LittleEndian, sum.Sum32())
	}
	if err == nil && s.sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func readSnapshot(path string, limits protocol.Limits) (*protocol.State, uint64, error) {
	b, done, err := openMapped(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = done() }() // nothing of it is used any more; an error would only leave it mapped
	head := len(snapshotMagic) + 8
	if len(b) < head+4 || string(b[:len(snapshotMagic)]) != snapshotMagic {
		return nil, 0, fmt.Errorf("%s is no snapshot of a parameter server", path)
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, 0, fmt.Errorf("%s is damaged: its checksum is wrong", path)
	}
	state, err := protocol.DecodeSnapshot(body[head:], limits)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return state, binary.LittleEndian.Uint64(body[len(snapshotMagic):]), nil
}

// replay executes the commands of a log up to its end or to a torn record, and returns the offset at which it stopped.
func replay(path string, state *protocol.State) (whole int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	var header [8]byte
	for {
		if _, err := io.ReadFull(in, header[:]); err != nil {
			return whole, nil // the end, or torn
		}
		n := binary.LittleEndian.Uint32(header[:])
		if n == 0 || n > maxMessage { // zeros, too, may follow what was written before the machine crashed
			return whole, nil
		}
		b := make([]byte, n)
		if _, err := io.ReadFull(in, b); err != nil || crc32.Checksum(b, castagnoli) != binary.LittleEndian.Uint32(header[4:]) {
			return whole, nil // torn
		}
		c, err := protocol.DecodeCommand(b)
		if err == nil {
			_, err = state.Execute(c)
		}
		if err != nil {
			return whole, fmt.Errorf("%s: %w", path, err)
		}
		whole += int64(len(header)) + int64(n)
	}
}

// append adds a command to the log. An error leaves the log unchanged.
func (s *store) append(command []byte) error {
	binary.LittleEndian.PutUint32(s.header[:], uint32(len(command)))
	binary.LittleEndian.PutUint32(s.header[4:], crc32.Checksum(command, castagnoli))
	_, err := s.log.Write(s.header[:])
	if err == nil {
		_, err = s.log.Write(command)
	}
	if err == nil && s.sync {
		err = s.log.Sync()
	}
	if err != nil {
		_ = s.log.Truncate(s.size)
		_, _ = s.log.Seek(s.size, io.SeekStart)
		return fmt.Errorf("parameterserver: the log of updates: %w", err)
	}
	s.size += int64(len(s.header) + len(command))
	return nil
}

// close may be called twice, because Serve closes the server too.
func (s *store) close() error {
	if s == nil || s.log == nil {
		return nil
	}
	log := s.log
	s.log = nil
	return log.Close()
}
