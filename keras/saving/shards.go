package saving

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/hdf5"
)

// DefaultShardSize is the default maximum size of one file of a sharded set, in bytes of values: 5 GiB.
const DefaultShardSize = 5 << 30

// shardIndex is the JSON file of a sharded set.
type shardIndex struct {
	Metadata struct {
		TotalSize float64 `json:"total_size"`
	} `json:"metadata"`
	Map map[string]shardNames `json:"weight_map"` // group of variables -> files
}

// shardNames is one name or a list of names.
type shardNames []string

func (n *shardNames) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*n = shardNames{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(n))
}

func (n shardNames) MarshalJSON() ([]byte, error) {
	if len(n) == 1 {
		return json.Marshal(n[0])
	}
	return json.Marshal([]string(n))
}

// shard is one file to be written.
type shard struct {
	name   string
	writer *hdf5.Writer
	size   int64
}

// secondSet is the first number of the files that are written while a set with the normal numbers exists.
const secondSet = 50_000

// WriteShards writes objects as a sharded set: an index at path, which ends in .weights.json, and beside it files of at
// most limit bytes of values, in Keras's format. write creates each file; the index is written last. Files of an
// existing set are not overwritten: the new ones are numbered from 50,000 until the index lists them. Then they replace
// the old ones, since Keras opens no set without the number 0. So a crash at any moment leaves one complete set.
func WriteShards(path string, objects []Object, limit int64, write func(path string, contents func(io.Writer) error) error) error {
	if limit <= 0 {
		return fmt.Errorf("the largest size of a shard is %d bytes; expected more than 0", limit)
	}
	if write == nil {
		return fmt.Errorf("WriteShards: the function that makes each file is nil")
	}
	base := strings.TrimSuffix(filepath.Base(path), ".weights.json")
	old, first := filesOf(path), 0
	if slices.ContainsFunc(old, func(name string) bool { return name < shardName(base, secondSet) }) {
		first = secondSet
	}
	index := shardIndex{Map: map[string]shardNames{}}
	shards, err := split(base, first, objects, limit, &index)
	if err != nil {
		return err
	}
	at := func(name string) string { return filepath.Join(filepath.Dir(path), name) }
	made := slices.DeleteFunc(slices.Clone(shards), func(s *shard) bool {
		_, err := os.Lstat(at(s.name))
		return err == nil
	})
	if err := writeSet(path, at, shards, &index, write); err != nil {
		listed := filesOf(path) // the new ones too, if everything was written and only the confirmation failed
		for _, s := range made {
			if !slices.Contains(listed, s.name) {
				_ = os.Remove(at(s.name)) // on a full disk it would keep the remaining space
			}
		}
		return err
	}
	if first > 0 && len(filesOf(path)) > 0 { // otherwise nothing was written
		for i, s := range shards {
			own := at(shardName(base, i))
			err := link(at(s.name), own)
			if err != nil { // from a file system without links
				err = write(own, s.contents)
			}
			if err != nil {
				return err
			}
			s.name = shardName(base, i)
		}
		index.renumber(base, first)
		if err := writeIndex(path, &index, write); err != nil {
			return err
		}
	}
	removeReplaced(path, base, old)
	return nil
}

// writeSet writes shards and then the index.
func writeSet(path string, at func(name string) string, shards []*shard, index *shardIndex, write func(path string, contents func(io.Writer) error) error) error {
	for _, s := range shards {
		if err := write(at(s.name), s.contents); err != nil {
			return err
		}
	}
	return writeIndex(path, index, write)
}

func (s *shard) contents(w io.Writer) error {
	_, err := s.writer.WriteTo(w)
	return err
}

func writeIndex(path string, index *shardIndex, write func(path string, contents func(io.Writer) error) error) error {
	text, err := json.MarshalIndent(index, "", "    ")
	if err != nil {
		return err
	}
	return write(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// renumber renumbers files from 0 that were numbered from first.
func (x *shardIndex) renumber(base string, first int) {
	for _, names := range x.Map {
		for i, name := range names {
			var n int
			if _, err := fmt.Sscanf(name[len(base):], "_%05d.weights.h5", &n); err == nil {
				names[i] = shardName(base, n-first)
			}
		}
	}
}

// link gives a file a second name, replacing any file of that name.
func link(from, to string) error {
	temporary := fmt.Sprintf("%s.%08x.tmp", to, rand.Uint32()) // named like atomicfile's, which removes those that a killed process leaves
	if err := os.Link(from, temporary); err != nil {
		return err
	}
	err := os.Rename(temporary, to)
	if err != nil {
		_ = os.Remove(temporary) // the first error is the one to report
	}
	return err
}

func shardName(base string, number int) string {
	return fmt.Sprintf("%s_%05d.weights.h5", base, number)
}

// filesOf lists the files beside path that have names of its shards, or none if there is no set.
func filesOf(path string) (names []string) {
	s, err := OpenShards(path)
	if err != nil {
		return nil
	}
	shard := regexp.MustCompile("^" + regexp.QuoteMeta(strings.TrimSuffix(filepath.Base(path), ".weights.json")) + `_[0-9]{5}\.weights\.h5$`)
	for _, list := range s.index.Map {
		for _, name := range list {
			if shard.MatchString(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// removeReplaced removes the files of the previous set, and those of sets that were never completed.
func removeReplaced(path, base string, old []string) {
	now := filesOf(path)
	if len(now) == 0 {
		return // nothing was written
	}
	remove := func(name string) error { return os.Remove(filepath.Join(filepath.Dir(path), name)) }
	for _, name := range old {
		if !slices.Contains(now, name) {
			_ = remove(name) // failing costs only disk space
		}
	}
	for i := secondSet; ; i++ {
		if name := shardName(base, i); !slices.Contains(now, name) && remove(name) != nil && i-secondSet >= len(now) {
			return
		}
	}
}

// split distributes variables, in order, over files numbered from first.
func split(base string, first int, objects []Object, limit int64, index *shardIndex) ([]*shard, error) {
	var shards []*shard
	next := func() *shard {
		s := &shard{name: shardName(base, first+len(shards)), writer: hdf5.NewWriter()}
		shards = append(shards, s)
		return s
	}
	current := next()
	for _, o := range objects {
		path := join(o.Path, "vars")
		values, err := o.values()
		if err != nil {
			return nil, fmt.Errorf("weights: %s: %w", describe(o), err)
		}
		for i, v := range o.Variables {
			size := int64(v.Type().Bytes())
			if size > limit {
				return nil, fmt.Errorf("variable %s has %d bytes, more than the largest size of a shard, %d; allow larger shards", v.Path(), size, limit)
			}
			if current.size+size > limit {
				current = next()
			}
			current.size += size
			index.Metadata.TotalSize += float64(size)
			group, err := current.writer.Root().Group(path)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(index.Map["/"+path], current.name) {
				index.Map["/"+path] = append(index.Map["/"+path], current.name)
				if err := group.SetAttribute("name", o.Name); err != nil {
					return nil, err
				}
			}
			if err := addVariable(group, fmt.Sprint(i), v, values); err != nil {
				return nil, err
			}
		}
	}
	return shards, nil
}

// Shards is a sharded set opened for reading.
type Shards struct {
	folder string
	index  shardIndex
	open   map[string]*hdf5.Group
	files  []*os.File
}

// maxIndex limits the size of an index.
const maxIndex = 64 << 20

// OpenShards opens a sharded set by its index.
func OpenShards(path string) (*Shards, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxIndex {
		return nil, fmt.Errorf("the index of the shards has %d bytes; expected at most %d", info.Size(), maxIndex)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &Shards{folder: filepath.Dir(path), open: map[string]*hdf5.Group{}}
	if err := json.Unmarshal(text, &s.index); err != nil {
		return nil, fmt.Errorf("the index of the shards is not what Keras writes: %w", err)
	}
	if len(s.index.Map) == 0 {
		return nil, errors.New("the file has no weight_map; expected the index of sharded weights")
	}
	for group, names := range s.index.Map {
		for _, name := range names {
			if name != filepath.Base(name) || !fs.ValidPath(name) || strings.Contains(name, `\`) {
				return nil, fmt.Errorf("shard %q of %s has an unsafe path; expected the name of a file in the same folder", name, group)
			}
		}
	}
	return s, nil
}

// Close closes the files of the set.
func (s *Shards) Close() error {
	var err error
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

func (s *Shards) shard(name string) (*hdf5.Group, error) {
	if g, ok := s.open[name]; ok {
		return g, nil
	}
	f, err := os.Open(filepath.Join(s.folder, name))
	if err != nil {
		return nil, err
	}
	s.files = append(s.files, f)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := hdf5.Open(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("shard %s: %w", name, err)
	}
	s.open[name] = file.Root()
	return file.Root(), nil
}

// Vars returns the datasets of an object, from all files that hold any of them.
func (s *Shards) Vars(path string) ([]*hdf5.Dataset, error) {
	group := join(path, "vars")
	found := map[string]*hdf5.Dataset{}
	for _, name := range s.index.Map["/"+group] {
		root, err := s.shard(name)
		if err != nil {
			return nil, err
		}
		g, err := root.Group(group)
		if err != nil {
			return nil, fmt.Errorf("shard %s: %w", name, err)
		}
		members, err := g.Names()
		if err != nil {
			return nil, fmt.Errorf("shard %s: %w", name, err)
		}
		for _, member := range members {
			if found[member], err = g.Dataset(member); err != nil {
				return nil, fmt.Errorf("shard %s: %w", name, err)
			}
		}
	}
	out := make([]*hdf5.Dataset, len(found))
	for i := range out {
		if out[i] = found[fmt.Sprint(i)]; out[i] == nil {
			return nil, fmt.Errorf("dataset %d of %s is in none of the shards %q", i, group, s.index.Map["/"+group])
		}
	}
	return out, nil
}

// Array looks in all files that hold parts of the group.
func (s *Shards) Array(path string) (*hdf5.Dataset, error) {
	for _, name := range s.index.Map["/"+filepath.ToSlash(filepath.Dir(path))] {
		root, err := s.shard(name)
		if err != nil {
			return nil, err
		}
		if d, err := datasetAt(root, path); d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

// Datasets lists the datasets of all groups in the index.
func (s *Shards) Datasets() ([]string, error) {
	var out []string
	for group := range s.index.Map {
		path := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(group, "/"), "vars"), "/")
		list, err := s.Vars(path)
		if err != nil {
			return nil, err
		}
		for i := range list {
			out = append(out, fmt.Sprintf("%s/%d", join(path, "vars"), i))
		}
	}
	return out, nil
}
