package data

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/data/internal/randomstate"
)

// folderFiles are the files of a folder and their classes.
type folderFiles struct {
	classNames []string // nil for LabelNone
	paths      []string
	classes    []int // of each file; nil for LabelNone
}

// files lists the files of a folder, or of one part of a validation split, in the order of the first pass.
func (c *folderConfig) files(dir string) (*folderFiles, error) {
	f := &folderFiles{}
	if err := c.index(dir, f); err != nil {
		return nil, err
	}
	if len(f.paths) == 0 {
		return nil, fmt.Errorf("no files %s below %s; expected one folder of them for each class", strings.Join(c.suffixes, ", "), dir)
	}
	if c.labels == LabelBinary && len(f.classNames) != 2 {
		return nil, fmt.Errorf("label mode %q needs 2 classes; %s has %d: %q", LabelBinary, dir, len(f.classNames), f.classNames)
	}
	if !c.inOrder {
		randomstate.New(c.seed).Shuffle(len(f.paths), func(i, j int) {
			f.paths[i], f.paths[j] = f.paths[j], f.paths[i]
			if f.classes != nil {
				f.classes[i], f.classes[j] = f.classes[j], f.classes[i]
			}
		})
	}
	return f, c.cut(f)
}

// cut keeps one part of a validation split.
func (c *folderConfig) cut(f *folderFiles) error {
	if c.subset == "" {
		return nil
	}
	n := len(f.paths)
	first := n - int(c.split*float64(n))
	lo, hi := 0, first
	if c.subset == Validation {
		lo, hi = first, n
	}
	if lo == hi {
		return fmt.Errorf("validation split %g of %d files leaves none for %s", c.split, n, c.subset)
	}
	f.paths = f.paths[lo:hi]
	if f.classes != nil {
		f.classes = f.classes[lo:hi]
	}
	return nil
}

// index lists the files in alphabetical order, class by class.
func (c *folderConfig) index(dir string, f *folderFiles) error {
	if c.labels == LabelNone {
		var err error
		f.paths, err = c.filesBelow(dir)
		return err
	}
	if c.fileLabels != nil {
		return c.indexLabels(dir, f)
	}
	folders, err := classFolders(dir)
	if err != nil {
		return err
	}
	f.classNames = folders
	if c.classNames != nil {
		for _, name := range c.classNames {
			if !slices.Contains(folders, name) {
				return fmt.Errorf("class %q has no folder; %s has %q", name, dir, folders)
			}
		}
		f.classNames = slices.Clone(c.classNames)
	}
	f.classes = []int{}
	for class, name := range f.classNames {
		paths, err := c.filesBelow(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		f.paths = append(f.paths, paths...)
		for range paths {
			f.classes = append(f.classes, class)
		}
	}
	return nil
}

// classFolders lists the subfolders that are classes; a link to a folder is one.
func classFolders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && info.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// indexLabels lists the files below a folder, with the classes that FileLabels gives.
func (c *folderConfig) indexLabels(dir string, f *folderFiles) (err error) {
	if f.paths, err = c.filesBelow(dir); err != nil {
		return err
	}
	if len(f.paths) != len(c.fileLabels) {
		return fmt.Errorf("%d labels in FileLabels for %d files below %s; expected one for each", len(c.fileLabels), len(f.paths), dir)
	}
	f.classes = slices.Clone(c.fileLabels)
	distinct := slices.Clone(c.fileLabels)
	slices.Sort(distinct)
	for _, label := range slices.Compact(distinct) {
		f.classNames = append(f.classNames, strconv.Itoa(label))
	}
	limit := len(f.classNames)
	if c.labels == LabelInt {
		limit = math.MaxInt32
	}
	for i, label := range c.fileLabels {
		if label < 0 || label >= limit {
			return fmt.Errorf("label %d of file %s; expected 0 to %d, as there are %d different ones", label, f.paths[i], limit-1, len(f.classNames))
		}
	}
	return nil
}

// filesBelow lists the files in a folder and its subfolders that have the dataset's suffixes: folders sorted by path,
// files by name.
func (c *folderConfig) filesBelow(dir string) ([]string, error) {
	w := folderWalk{suffixes: c.suffixes, followLinks: c.followLinks, byFolder: map[string][]string{}}
	if err := w.visit(dir); err != nil {
		return nil, err
	}
	folders := make([]string, 0, len(w.byFolder))
	for folder := range w.byFolder {
		folders = append(folders, folder)
	}
	slices.Sort(folders)
	var paths []string
	for _, folder := range folders {
		paths = append(paths, w.byFolder[folder]...)
	}
	return paths, nil
}

type folderWalk struct {
	suffixes    []string
	followLinks bool
	above       []fs.FileInfo // the folders that the present one lies in, where links are followed
	byFolder    map[string][]string
}

func (w *folderWalk) visit(folder string) error {
	if w.followLinks {
		info, err := os.Stat(folder)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(w.above, func(a fs.FileInfo) bool { return os.SameFile(a, info) }) {
			return fmt.Errorf("%s is a link to a folder that it lies in; remove it, or leave out FollowLinks", folder)
		}
		w.above = append(w.above, info)
		defer func() { w.above = w.above[:len(w.above)-1] }()
	}
	entries, err := os.ReadDir(folder) // sorted
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		switch {
		case e.IsDir() || w.followLinks && isFolderLink(e, path):
			if err := w.visit(path); err != nil {
				return err
			}
		case slices.Contains(w.suffixes, strings.ToLower(filepath.Ext(path))) && isFile(e, path):
			w.byFolder[folder] = append(w.byFolder[folder], path)
		}
	}
	return nil
}

func isFolderLink(e fs.DirEntry, path string) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// isFile reports whether an entry is a file or a link to one.
func isFile(e fs.DirEntry, path string) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
