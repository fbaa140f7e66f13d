package datasets_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data/datasets"
)

// kerasCase is what Keras reads from a file of testdata.
type kerasCase struct {
	Name      string
	Arguments map[string]float64
	Parts     [2][2]json.RawMessage
}

// optionsOf are the options of a case that are of the kind O.
func optionsOf[O any](c kerasCase) []O {
	options := []O{datasets.Directory("testdata").(O)}
	for name, v := range c.Arguments {
		options = append(options, map[string]any{
			"num_words": datasets.NumWords(int(v)), "skip_top": datasets.SkipTop(int(v)), "maxlen": datasets.MaxLength(int(v)),
			"seed": datasets.ShuffleSeed(uint32(v)), "test_split": datasets.TestSplit(v),
		}[name].(O))
	}
	return options
}

// TestLikeKeras: the same examples in the same order, in the same parts.
func TestLikeKeras(t *testing.T) {
	raw, err := os.ReadFile("testdata/datasets.json")
	require.NoError(t, err)
	var file struct{ Cases []kerasCase }
	require.NoError(t, json.Unmarshal(raw, &file))
	require.Len(t, file.Cases, 8)
	texts := map[string]func(kerasCase) (*datasets.Texts, error){
		"imdb": func(c kerasCase) (*datasets.Texts, error) { return datasets.IMDB(optionsOf[datasets.IMDBOption](c)...) },
		"reuters": func(c kerasCase) (*datasets.Texts, error) {
			return datasets.Reuters(optionsOf[datasets.ReutersOption](c)...)
		},
	}
	tables := map[string]func(kerasCase) (*datasets.Table, error){
		"boston_housing": func(c kerasCase) (*datasets.Table, error) {
			return datasets.BostonHousing(optionsOf[datasets.BostonHousingOption](c)...)
		},
		"california_housing": func(c kerasCase) (*datasets.Table, error) {
			return datasets.CaliforniaHousing(optionsOf[datasets.CaliforniaHousingOption](c)...)
		},
	}
	for _, c := range file.Cases {
		t.Run(fmt.Sprint(c.Name, c.Arguments), func(t *testing.T) {
			if load := texts[c.Name]; load != nil {
				d, err := load(c)
				require.NoError(t, err)
				for i, got := range []datasets.Sequences{d.Train, d.Test} {
					var x [][]int
					var y []int
					require.NoError(t, json.Unmarshal(c.Parts[i][0], &x))
					require.NoError(t, json.Unmarshal(c.Parts[i][1], &y))
					assert.Equal(t, x, got.X)
					assert.Equal(t, y, got.Y)
				}
				return
			}
			d, err := tables[c.Name](c)
			require.NoError(t, err)
			assert.Equal(t, datasets.FromDirectory, d.Source)
			for i, got := range []datasets.Rows{d.Train, d.Test} {
				var x [][]float64
				var y []float64
				require.NoError(t, json.Unmarshal(c.Parts[i][0], &x))
				require.NoError(t, json.Unmarshal(c.Parts[i][1], &y))
				var flat []float64
				for _, row := range x {
					flat = append(flat, row...)
				}
				assert.InDeltaSlice(t, flat, got.X.Elements(), 1e-6)
				assert.InDeltaSlice(t, y, got.Y.Elements(), 1e-6)
				assert.Equal(t, len(y), got.Arrays().N())
			}
		})
	}
}

// record is an image of CIFAR whose pixels tell where they stand.
func record(labels ...byte) []byte {
	out := append([]byte{}, labels...)
	for plane := range 3 {
		for i := range 1024 {
			out = append(out, byte(plane*80+i%32))
		}
	}
	return out
}

func packed(t *testing.T, files map[string][]byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, content := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: "cifar/" + name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}))
		_, err := w.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return b.Bytes()
}

func TestCIFAR(t *testing.T) {
	files := map[string][]byte{"test_batch.bin": append(record(9), record(3)...), "readme.html": []byte("hello")}
	for i := range 5 {
		files[fmt.Sprintf("data_batch_%d.bin", i+1)] = record(byte(i))
	}
	archive, folder := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(archive, "cifar-10-binary.tar.gz"), packed(t, files), 0o600))
	for name, content := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "cifar-10-batches-bin"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "cifar-10-batches-bin", name), content, 0o600))
	}
	for _, dir := range []string{archive, folder} {
		d, err := datasets.CIFAR10(datasets.Directory(dir))
		require.NoError(t, err)
		assert.Equal(t, []byte{0, 1, 2, 3, 4}, d.Train.Labels.Elements())
		assert.Equal(t, []byte{9, 3}, d.Test.Labels.Elements())
		assert.Equal(t, []int{5, 32, 32, 3}, d.Train.Images.Shape())
		assert.Equal(t, []byte{0, 80, 160, 1, 81, 161}, d.Test.Images.Elements().([]byte)[:6])
	}
	hundred := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(hundred, "train.bin"), record(19, 99), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(hundred, "test.bin"), record(1, 2), 0o600))
	fine, err := datasets.CIFAR100(datasets.Directory(hundred))
	require.NoError(t, err)
	coarse, err := datasets.CIFAR100Coarse(datasets.Directory(hundred))
	require.NoError(t, err)
	assert.Equal(t, []byte{99}, fine.Train.Labels.Elements())
	assert.Equal(t, []byte{19}, coarse.Train.Labels.Elements())
	for want, content := range map[string][]byte{"inside record 0": record(1, 2)[:3000], "expected less than 20": record(20, 2), "hold no images": {}} {
		require.NoError(t, os.WriteFile(filepath.Join(hundred, "test.bin"), content, 0o600))
		_, err = datasets.CIFAR100(datasets.Directory(hundred))
		assert.ErrorContains(t, err, want)
	}
	delete(files, "data_batch_4.bin")
	require.NoError(t, os.WriteFile(filepath.Join(archive, "cifar-10-binary.tar.gz"), packed(t, files), 0o600))
	_, err = datasets.CIFAR10(datasets.Directory(archive))
	assert.ErrorContains(t, err, "holds no data_batch_4.bin")
}

// TestPublishedDownloads: a file appears in the cache if its checksum is right, and only on request.
func TestPublishedDownloads(t *testing.T) {
	table, err := os.ReadFile("testdata/boston_housing.npz")
	require.NoError(t, err)
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		assert.Equal(t, "/files/boston_housing.npz", r.URL.Path)
		_, _ = w.Write(table)
	}))
	defer server.Close()
	cache := filepath.Join(t.TempDir(), "cache")
	at := []datasets.BostonHousingOption{datasets.CacheDirectory(cache), datasets.BaseURL(server.URL + "/files")}
	_, err = datasets.BostonHousing(at...)
	require.ErrorContains(t, err, "option Download")
	assert.Zero(t, asked)
	_, err = datasets.BostonHousing(append(at, datasets.Download(t.Context()))...)
	require.ErrorContains(t, err, "SHA-256")
	assert.NoFileExists(t, filepath.Join(cache, "boston_housing.npz"))
	defer datasets.UseBoston(table)()
	d, err := datasets.BostonHousing(append(at, datasets.Download(t.Context()))...)
	require.NoError(t, err)
	assert.Equal(t, datasets.FromDownload, d.Source)
	d, err = datasets.BostonHousing(at...)
	require.NoError(t, err)
	assert.Equal(t, datasets.FromCache, d.Source)
	assert.Equal(t, 2, asked)
}

func TestFashionMNIST(t *testing.T) {
	dir := t.TempDir()
	idx := func(name string, header, body []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), append(header, body...), 0o600))
	}
	for _, part := range []string{"train", "t10k"} {
		idx(part+"-images-idx3-ubyte", []byte{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2}, []byte{1, 2, 3, 4})
		idx(part+"-labels-idx1-ubyte", []byte{0, 0, 8, 1, 0, 0, 0, 2}, []byte{9, 0})
	}
	d, err := datasets.FashionMNIST(datasets.Directory(dir))
	require.NoError(t, err)
	assert.Equal(t, "Fashion-MNIST: 2 training and 2 test images of 1 x 2 pixels, from the directory "+dir, d.String())
	_, err = datasets.FashionMNIST(datasets.CacheDirectory(t.TempDir()))
	assert.ErrorContains(t, err, "option Download")
	_, err = datasets.FashionMNIST(datasets.Embedded())
	assert.ErrorContains(t, err, "nothing of this data set is embedded")
}

func TestPublishedMistakes(t *testing.T) {
	_, err := datasets.BostonHousing(datasets.TestSplit(1), datasets.Directory("testdata"))
	assert.ErrorContains(t, err, "TestSplit is 1")
	_, err = datasets.IMDB(datasets.MaxLength(1), datasets.Directory("testdata"))
	assert.ErrorContains(t, err, "no text is left")
	_, err = datasets.Reuters(datasets.Directory(t.TempDir()))
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = datasets.IMDBWordIndex(datasets.Download(t.Context()))
	assert.ErrorContains(t, err, "checksum")
	small, err := datasets.CaliforniaHousing(datasets.Small(), datasets.Directory("testdata"))
	require.NoError(t, err)
	assert.Equal(t, 16, small.Train.Arrays().N())
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "imdb_word_index.json"), []byte(`{"the": 1, "film": 19}`), 0o600))
	words, err := datasets.IMDBWordIndex(datasets.Directory(dir))
	require.NoError(t, err)
	assert.Equal(t, 19, words["film"])
}

// objects puts a pickle program into an npz file as NumPy would.
func objects(t testing.TB, program []byte) string {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "reuters.npz"))
	require.NoError(t, err)
	z := zip.NewWriter(f)
	w, err := z.Create("x.npy")
	require.NoError(t, err)
	header := "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n"
	_, err = w.Write(append([]byte("\x93NUMPY\x01\x00"+string([]byte{byte(len(header)), 0})+header), program...))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	return dir
}

// TestPickleRunsNothing: programs that call anything but what makes an array are refused, and repeated lists take no
// memory.
func TestPickleRunsNothing(t *testing.T) {
	_, err := datasets.Reuters(datasets.Directory(objects(t, []byte("\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R."))))
	assert.ErrorContains(t, err, `"os system", which is not run`)
	_, err = datasets.Reuters(datasets.Directory(objects(t, []byte("\x80\x02"))))
	assert.ErrorContains(t, err, "cut short")
	long := []byte("\x80\x02cnumpy\nndarray\n)R(K\x01K\x01NN](](")
	long = append(long, bytes.Repeat([]byte("K\x01"), 5000)...)
	long = append(long, "eq\x07"...)
	long = append(long, bytes.Repeat([]byte("h\x07"), 5000)...)
	_, err = datasets.Reuters(datasets.Directory(objects(t, append(long, "etb."...))))
	assert.ErrorContains(t, err, "more than")
}

func FuzzUnpickle(f *testing.F) {
	f.Add([]byte("\x80\x02cnumpy\nndarray\n)R(K\x01K\x01NN](](K\x01K\x02M\x05\x05eetb."))
	f.Add([]byte("\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00\x8c\x05numpy\x8c\x05dtype\x93)R."))
	f.Fuzz(func(t *testing.T, program []byte) {
		lists, err := datasets.UnpickleLists(program)
		if err == nil {
			total := 0
			for _, l := range lists {
				total += len(l)
			}
			if total > len(program) {
				t.Errorf("%d numbers of %d bytes", total, len(program))
			}
		}
	})
}
