package saving

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/gokeras/gokeras/internal/hdf5"
	"github.com/gokeras/gokeras/layers"
)

// Assets collects the files that layers store in an archive, by their paths below assets.
func Assets(objects []Object) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, o := range objects {
		keeper, ok := o.Layer.(layers.AssetKeeper)
		if !ok {
			continue
		}
		files, err := keeper.Assets()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", describe(o), err)
		}
		for name, text := range files {
			out[join(o.Path, name)] = text
		}
	}
	return out, nil
}

// LoadArrays passes the named arrays of a weights file to the layers that they belong to.
func LoadArrays(source Source, objects []Object) error {
	if source == nil && len(objects) > 0 {
		return errors.New("weights: the source is nil; open one, as with NewArchive")
	}
	if len(objects) == 0 {
		return nil
	}
	objects, err := placed(objects, source.Datasets)
	if err != nil {
		return fmt.Errorf("weights: %w", err)
	}
	for _, o := range objects {
		if err := loadTable(source, o); err != nil {
			return fmt.Errorf("weights: %s: %w", describe(o), err)
		}
		keeper, ok := o.Layer.(layers.ArrayKeeper)
		if !ok {
			continue
		}
		found := map[string][]float64{}
		for _, name := range keeper.ArrayNames() {
			d, err := source.Array(join(o.Path, name))
			if err != nil {
				return fmt.Errorf("weights: %s: %w", describe(o), err)
			}
			if d == nil {
				continue
			}
			if found[name], err = d.Float64s(); err != nil {
				return fmt.Errorf("weights: %s: %w", describe(o), err)
			}
		}
		if len(found) == 0 {
			continue
		}
		if err := keeper.LoadArrays(found); err != nil {
			return fmt.Errorf("weights: %s: %w", describe(o), err)
		}
	}
	return nil
}

// addArrays adds the arrays that a layer stores under names of their own, as float32.
func addArrays(w *hdf5.Writer, o Object) error {
	if err := addTable(w, o); err != nil {
		return err
	}
	keeper, ok := o.Layer.(layers.ArrayKeeper)
	if !ok {
		return nil
	}
	for name, values := range keeper.Arrays() {
		narrow := make([]float32, len(values))
		for i, v := range values {
			narrow[i] = float32(v)
		}
		if _, err := w.Root().Dataset(join(o.Path, name), hdf5.Float32, []int{len(values)}, hdf5.Values(narrow)); err != nil {
			return fmt.Errorf("weights: %s: %w", describe(o), err)
		}
	}
	return nil
}

// LoadAssets passes the files of an archive to the layers that they belong to.
func LoadAssets(a *Archive, objects []Object) error {
	if a == nil {
		return errors.New("the archive is nil")
	}
	names, err := a.Assets()
	if err != nil {
		return err
	}
	if objects, err = placed(objects, func() ([]string, error) { return names, nil }); err != nil {
		return err
	}
	byFolder := map[string][]string{}
	for _, name := range names {
		folder := path.Dir(name)
		if folder == "." {
			folder = ""
		}
		byFolder[folder] = append(byFolder[folder], path.Base(name))
	}
	for _, o := range objects {
		keeper, ok := o.Layer.(layers.AssetKeeper)
		if !ok || len(byFolder[o.Path]) == 0 {
			continue
		}
		files := map[string][]byte{}
		for _, name := range byFolder[o.Path] {
			text, err := a.Asset(join(o.Path, name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			files[name] = text
		}
		if err := keeper.LoadAssets(files); err != nil {
			return fmt.Errorf("%s: %w", describe(o), err)
		}
	}
	return nil
}
