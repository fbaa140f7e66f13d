package harvest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

//go:embed testdata/exceptions.txt
var exceptionsText string

// Exception is a set of cases in which Keras, or the way the case was made, is at fault.
type Exception struct {
	Pattern string // of names, for path.Match
	Drawing string // the Drawing of the one case that is meant; "" for all of that name
	Reason  string // with the evidence
}

// Exceptions reads the list in testdata: lines of a pattern, for one drawing of several with "@" and its
// [Case.Drawing], a tab, and the reason.
func Exceptions() []Exception {
	var out []Exception
	for line := range strings.Lines(exceptionsText) {
		if pattern, reason, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && !strings.HasPrefix(line, "#") {
			pattern, drawing, _ := strings.Cut(pattern, "@")
			out = append(out, Exception{pattern, drawing, reason})
		}
	}
	return out
}

// covers reports whether the exception covers a case of that name. It calls drawing only if it matters.
func (e Exception) covers(name string, drawing func() string) bool {
	ok, err := path.Match(e.Pattern, name)
	return ok && err == nil && (e.Drawing == "" || e.Drawing == drawing())
}

func excused(name string, drawing func() string) string {
	for _, e := range Exceptions() {
		if e.covers(name, drawing) {
			return e.Reason
		}
	}
	return ""
}

// Excused returns why the case may fail, "" where it must pass.
func (c *Case) Excused() string { return excused(c.Name, c.Drawing) }

// Excused returns why the case may fail, "" where it must pass.
func (c *TypeCase) Excused() string { return excused(c.Name(), func() string { return "" }) }

// Drawing distinguishes cases with the same name: names contain classes, configurations and shapes, but numbers may be
// drawn at random. It is a digest of the inputs and of Keras's results.
func (c *Case) Drawing() string {
	sum := sha256.New()
	for _, name := range []string{"in.npz", "out.npz"} {
		raw := c.Files[name]
		archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			continue // a case without
		}
		for _, member := range archive.File {
			r, err := member.Open()
			if err != nil {
				return ""
			}
			io.WriteString(sum, member.Name)
			_, err = io.Copy(sum, r)
			if r.Close(); err != nil {
				return ""
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// Names lists the cases in folders, each name once, with the folder of each.
func Names(folders ...string) (map[string]string, error) {
	places := map[string]string{}
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(folder, "cases"))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if _, again := places[e.Name()]; !again {
				places[e.Name()] = filepath.Join(folder, "cases", e.Name())
			}
		}
	}
	return places, nil
}

// PackSelection writes a selection of the cases in folders to a file: those that pass or have an exception, at most
// perClass of each class and command, none larger than 64 KiB.
func PackSelection(file string, perClass int, folders ...string) error {
	places, err := Names(folders...)
	if err != nil {
		return err
	}
	groups := map[string][]*Case{}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		c, err := ReadCase(places[name])
		if err != nil {
			continue // left by a run that was cut off
		}
		size := 0
		for _, content := range c.Files {
			size += len(content)
		}
		if size <= 64<<10 {
			key := c.Kind + "\x00" + c.Label + "\x00" + c.Command
			groups[key] = append(groups[key], c)
		}
	}
	var chosen []*Case
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		kept := 0
		for _, c := range spread(groups[key]) {
			if kept == perClass {
				break
			}
			if passes(c) || c.Excused() != "" {
				chosen, kept = append(chosen, c), kept+1
			}
		}
	}
	slices.SortFunc(chosen, func(a, b *Case) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Label, b.Label), strings.Compare(a.Name, b.Name))
	})
	return atomicfile.Write(file, func(w io.Writer) error { return pack(w, chosen) })
}

// spread orders cases so that any first few of them come from different tests.
func spread(cases []*Case) []*Case {
	rounds, seen := map[*Case]int{}, map[string]int{}
	for _, c := range cases {
		test, _, _ := strings.Cut(c.Test, "[")
		rounds[c] = seen[test]
		seen[test]++
	}
	out := slices.Clone(cases)
	slices.SortStableFunc(out, func(a, b *Case) int { return rounds[a] - rounds[b] })
	return out
}

func passes(c *Case) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := c.Check(ctx)
	return err == nil
}

// pack writes cases one after the other, with similar ones together, so that they compress well.
func pack(w io.Writer, cases []*Case) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, c := range cases {
		for _, name := range slices.Sorted(maps.Keys(c.Files)) {
			header := &tar.Header{Name: c.Name + "/" + name, Mode: 0o644, Size: int64(len(c.Files[name])), Format: tar.FormatUSTAR}
			if err := t.WriteHeader(header); err != nil {
				return err
			}
			if _, err := t.Write(c.Files[name]); err != nil {
				return err
			}
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// Packed reads the cases of a packed selection.
func Packed(file []byte) iter.Seq2[*Case, error] {
	return func(yield func(*Case, error) bool) {
		z, err := gzip.NewReader(bytes.NewReader(file))
		if err != nil {
			yield(nil, err)
			return
		}
		name, files := "", map[string][]byte{}
		end := func() bool {
			if name == "" {
				return true
			}
			c, err := newCase(name, files)
			return yield(c, err)
		}
		for t := tar.NewReader(z); ; {
			h, err := t.Next()
			if err == io.EOF {
				end()
				return
			}
			var content []byte
			if err == nil {
				content, err = io.ReadAll(t)
			}
			if err != nil {
				yield(nil, fmt.Errorf("after %q: %w", name, err))
				return
			}
			folder, member := path.Split(h.Name)
			if folder = strings.TrimSuffix(folder, "/"); folder != name {
				if !end() {
					return
				}
				name, files = folder, map[string][]byte{}
			}
			files[member] = content
		}
	}
}
