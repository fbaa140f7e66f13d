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
)

// indexLabels lists the files below a folder, whose classes FileLabels tells.
func (c *folderConfig) indexLabels(dir string, ds *ImageDataset) (err error) {
	if ds.Paths, err = c.filesBelow(dir); err != nil {
		return err
	}
	if len(ds.Paths) != len(c.fileLabels) {
		return fmt.Errorf("%d labels in FileLabels for %d files below %s; expected one for each", len(c.fileLabels), len(ds.Paths), dir)
	}
	ds.Classes = slices.Clone(c.fileLabels)
	distinct := slices.Clone(c.fileLabels)
	slices.Sort(distinct)
	for _, label := range slices.Compact(distinct) {
		ds.ClassNames = append(ds.ClassNames, strconv.Itoa(label))
	}
	limit := len(ds.ClassNames)
	if c.labels == LabelInt {
		limit = math.MaxInt32
	}
	for i, label := range c.fileLabels {
		if label < 0 || label >= limit {
			return fmt.Errorf("label %d of file %s; expected 0 to %d, as there are %d different ones", label, ds.Paths[i], limit-1, len(ds.ClassNames))
		}
	}
	return nil
}

// filesBelow lists the files with the endings of the dataset in a folder and its subfolders: folders sorted by their
// path, files by their name.
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

// isFile says whether an entry is a file or a link to one.
func isFile(e fs.DirEntry, path string) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
