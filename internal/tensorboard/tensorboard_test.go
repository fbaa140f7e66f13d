package tensorboard

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/recorded"
)

func TestChecksum(t *testing.T) {
	// The CRC-32C of "123456789" is e3069283 (RFC 3720); masked as in TensorFlow's crc32c.h.
	require.Equal(t, uint32(0xe3069283>>15|0xe3069283<<17&0xffffffff)+0xa282ead8, masked([]byte("123456789")))
}

// The files in testdata were written by Keras with TensorFlow.
func TestReadsWhatKerasWrites(t *testing.T) {
	events, err := ReadFile("testdata/train.tfevents")
	require.NoError(t, err)
	require.Equal(t, "brain.Event:2", events[0].FileVersion)
	byTag := map[string]Value{}
	for _, e := range events {
		require.Greater(t, e.WallTime, 1e9)
		for _, v := range e.Values {
			byTag[v.Tag] = v
		}
	}
	require.Equal(t, "graph_keras_model", byTag["keras"].Plugin)
	require.Equal(t, "1", string(byTag["keras"].Content))
	require.True(t, json.Valid(byTag["keras"].Strings[0]))
	require.Len(t, byTag["batch_loss"].Floats, 1)
	h := byTag["model/d/kernel/histogram"]
	require.Equal(t, []int{30, 3}, h.Shape)
	require.Len(t, h.Doubles, 90)
	picture := byTag["model/d/kernel/image"]
	require.Equal(t, []int{3}, picture.Shape)
	require.Equal(t, []string{"3", "2"}, []string{string(picture.Strings[0]), string(picture.Strings[1])})
	decoded, err := png.Decode(bytes.NewReader(picture.Strings[2]))
	require.NoError(t, err)
	require.Equal(t, 3, decoded.Bounds().Dx())
}

// Written again, each of Keras's records has the same bytes, but for the name of the writer.
func TestWritesTheSameBytes(t *testing.T) {
	raw, err := os.ReadFile("testdata/train.tfevents")
	require.NoError(t, err)
	events, err := Read(bytes.NewReader(raw))
	require.NoError(t, err)
	var got []byte
	for _, e := range events {
		message := bytes.Replace(firstEvent(e.WallTime), []byte("gokeras"), []byte("tensorflow.core.util.events_writer"), 1)
		if len(e.Values) == 0 {
			// The name is longer, so are the two lengths before it.
			at := bytes.Index(message, []byte("tensorflow.core"))
			message[at-1], message[at-3] = 34, 36
		} else {
			require.Len(t, e.Values, 1)
			message = summaryEvent(e.WallTime, e.Step, &e.Values[0])
		}
		got = appendRecord(got, message)
	}
	if !bytes.Equal(raw, got) {
		at := 0
		for at < min(len(raw), len(got)) && raw[at] == got[at] {
			at++
		}
		from := max(0, at-40)
		t.Fatalf("differs at %d of %d (%d):\n%s\n%s", at, len(raw), len(got), hex.Dump(raw[from:min(len(raw), at+60)]), hex.Dump(got[from:min(len(got), at+60)]))
	}
}

func TestHistogram(t *testing.T) {
	cases := recorded.JSON[[]struct{ Data, Rows []float64 }](t, "testdata/histograms.json.gz")
	require.Len(t, cases, 7)
	for _, c := range cases {
		got := Histogram(c.Data)
		for i, want := range c.Rows {
			if i%3 == 2 {
				require.Equal(t, want, got[i], "the count of row %d of %v", i/3, c.Data)
				continue
			}
			require.InDelta(t, want, got[i], 1e-13*max(1, math.Abs(want)))
		}
	}
	odd := Histogram([]float64{math.NaN(), 1, math.Inf(1), 3})
	require.Equal(t, []float64{1, 1 + 2.0/30, 1}, odd[:3])
	require.Equal(t, 3.0, odd[88])
	wide := Histogram([]float64{-math.MaxFloat64, math.MaxFloat64})
	require.Equal(t, 1.0, wide[2])
	require.Equal(t, 1.0, wide[89])
	narrow := Histogram([]float64{0, 5e-324})
	total := 0.0
	for i := 2; i < 90; i += 3 {
		total += narrow[i]
	}
	require.Equal(t, 2.0, total)
}

func TestWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	w, err := NewWriter(dir)
	require.NoError(t, err)
	require.NoError(t, w.Scalar(3, "loss", 0.1))
	require.NoError(t, w.Scalar(4, "loss", math.NaN()))
	require.NoError(t, w.Histogram(5, "h", []float64{1, 2}))
	require.NoError(t, w.KerasModel("keras", []byte("{}")))
	require.NoError(t, w.Images(6, "i", []float64{0, 0.5, 1, 2, math.NaN(), -1}, 1, 2, 3))
	require.NoError(t, w.Close())
	second, err := NewWriter(dir)
	require.NoError(t, err, "two files of one second have different names")
	require.NoError(t, second.Close())

	names, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*.v2"))
	require.NoError(t, err)
	require.Len(t, names, 2)
	events, err := ReadFile(names[0])
	require.NoError(t, err)
	require.Len(t, events, 6)
	require.Equal(t, int64(3), events[1].Step)
	require.Equal(t, []float32{0.1}, events[1].Values[0].Floats)
	require.True(t, math.IsNaN(float64(events[2].Values[0].Floats[0])))
	picture, err := png.Decode(bytes.NewReader(events[5].Values[0].Strings[2]))
	require.NoError(t, err)
	r, g, b, _ := picture.At(0, 0).RGBA()
	require.Equal(t, []uint32{0, 127, 255}, []uint32{r >> 8, g >> 8, b >> 8})

	_, err = NewWriter(filepath.Join(names[0], "none"))
	require.Error(t, err)
}

func TestReadRefuses(t *testing.T) {
	good := appendRecord(nil, summaryEvent(1, 2, &Value{Tag: "x", Plugin: "scalars", Floats: []float32{1}}))
	for i := range good {
		broken := bytes.Clone(good)
		broken[i] ^= 1
		_, err := Read(bytes.NewReader(broken))
		require.Error(t, err, "byte %d changed", i)
		if i > 0 {
			_, err = Read(bytes.NewReader(good[:i]))
			require.Error(t, err, "cut at %d", i)
		}
	}
	huge := binary.LittleEndian.AppendUint64(nil, 1<<30)
	huge = binary.LittleEndian.AppendUint32(huge, masked(huge))
	_, err := Read(io.MultiReader(bytes.NewReader(huge), strings.NewReader("short")))
	require.ErrorContains(t, err, "ends inside")
}

func FuzzRead(f *testing.F) {
	f.Add(appendRecord(nil, firstEvent(1)))
	f.Add(appendRecord(nil, summaryEvent(1, 2, &Value{Tag: "x", Shape: []int{2}, Doubles: []float64{1, 2}})))
	raw, err := os.ReadFile("testdata/validation.tfevents")
	require.NoError(f, err)
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		events, err := Read(bytes.NewReader(raw))
		if err == nil {
			require.LessOrEqual(t, len(events), len(raw)/16)
		}
		_, _ = parseEvent(raw) // after the checksum
	})
}
