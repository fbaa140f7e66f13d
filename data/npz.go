package data

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

// LoadNPZ reads the arrays of a .npz file of NumPy (numpy.savez and savez_compressed) as a named set, in the order of
// the file. Members that are not .npy files are skipped. The size of every array is bounded by the actual size of its
// member, and each member's checksum is verified.
func LoadNPZ(path string) (Tensors, error) {
	t, err := loadNPZ(path)
	if err != nil {
		return Tensors{}, fmt.Errorf("data: LoadNPZ: %w", atomicfile.Named(path, err))
	}
	return t, nil
}

func loadNPZ(path string) (Tensors, error) {
	f, err := os.Open(path)
	if err != nil {
		return Tensors{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Tensors{}, err
	}
	return readNPZ(f, info.Size())
}

// ReadNPZ is LoadNPZ for an open archive of the given size in bytes.
func ReadNPZ(r io.ReaderAt, size int64) (Tensors, error) {
	t, err := readNPZ(r, size)
	if err != nil {
		return Tensors{}, fmt.Errorf("data: ReadNPZ: %w", err)
	}
	return t, nil
}

func readNPZ(r io.ReaderAt, size int64) (Tensors, error) {
	names, files, err := npzFiles(r, size)
	if err != nil {
		return Tensors{}, err
	}
	t := Tensors{Names: names}
	for _, f := range files {
		d, err := readMember(f, size)
		if err != nil {
			return Tensors{}, fmt.Errorf("member %q: %w", f.Name, err)
		}
		t.Arrays = append(t.Arrays, d)
	}
	return t, nil
}

// npzFiles lists the arrays of an archive, at least one.
func npzFiles(r io.ReaderAt, size int64) (names []string, files []*zip.File, err error) {
	if r == nil {
		return nil, nil, errNoReader
	}
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for _, f := range archive.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			continue
		}
		if seen[name] {
			return nil, nil, fmt.Errorf("two members are named %q", f.Name)
		}
		seen[name] = true
		names, files = append(names, name), append(files, f)
	}
	if len(names) == 0 {
		return nil, nil, errors.New("the archive holds no .npy member")
	}
	return names, files, nil
}

func readMember(member *zip.File, archiveSize int64) (Array, error) {
	r, err := member.Open()
	if err != nil {
		return Array{}, err
	}
	defer r.Close()
	// The sizes in the directory cannot be trusted, nor can the header; the size of the archive can.
	stored := min(int64(min(member.CompressedSize64, maxBytes/16)), archiveSize)
	d, err := readNPY(r, int(8*stored))
	if err != nil {
		return Array{}, err
	}
	return d, expectEnd(r) // reading to the end verifies the checksum
}

// SaveNPZ writes arrays as a .npz file without compression, as numpy.savez does; unnamed arrays become arr_0, arr_1,
// ... It replaces an existing file only after everything was written.
func SaveNPZ(path string, arrays Tensors) error {
	err := arrays.check("arrays")
	if err == nil {
		err = atomicfile.Write(path, func(w io.Writer) error { return writeNPZ(w, arrays) })
	}
	if err != nil {
		return fmt.Errorf("data: SaveNPZ: %w", atomicfile.Named(path, err))
	}
	return nil
}

func writeNPZ(w io.Writer, arrays Tensors) error {
	archive := zip.NewWriter(w)
	for i, d := range arrays.Arrays {
		name := fmt.Sprintf("arr_%d", i)
		if arrays.Names != nil {
			name = arrays.Names[i]
		}
		member, err := archive.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		if err := writeNPY(member, d); err != nil {
			return fmt.Errorf("array %q: %w", name, err)
		}
	}
	return archive.Close()
}
