package data_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// wav is a file with the given bytes of sound.
func wav(code, channels, rate, bits int, sound ...byte) []byte {
	le := binary.LittleEndian
	format := le.AppendUint16(nil, uint16(code))
	format = le.AppendUint16(format, uint16(channels))
	format = le.AppendUint32(format, uint32(rate))
	format = le.AppendUint32(format, uint32(rate*channels*bits/8))
	format = le.AppendUint16(format, uint16(channels*bits/8))
	format = le.AppendUint16(format, uint16(bits))
	return riff(part("LIST", []byte("odd")), part("fmt ", format), part("data", sound))
}

func part(name string, content []byte) []byte {
	out := binary.LittleEndian.AppendUint32([]byte(name), uint32(len(content)))
	out = append(out, content...)
	return append(out, make([]byte, len(content)%2)...)
}

func riff(parts ...[]byte) []byte {
	out := []byte("WAVE")
	for _, p := range parts {
		out = append(out, p...)
	}
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(out))), out...)
}

func loadWAV(t *testing.T, content []byte) ([]float32, []int, int, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sound.wav")
	require.NoError(t, os.WriteFile(path, content, 0o644))
	d, rate, err := data.LoadWAV(path)
	if err != nil {
		return nil, nil, 0, err
	}
	return d.Elements().([]float32), d.Shape(), rate, nil
}

// TestLoadWAV: the values by the definition of each encoding.
func TestLoadWAV(t *testing.T) {
	float := func(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }
	extensible := make([]byte, 40)
	copy(extensible, []byte{0xfe, 0xff, 1, 0, 0x80, 0xbb, 0, 0, 0, 0, 0, 0, 3, 0, 24, 0, 22, 0, 24, 0, 0, 0, 0, 0, 1, 0})
	streamed := wav(1, 1, 8000, 16, 0, 0xc0)
	for i := range 4 {
		streamed[len(streamed)-6+i] = 0xff
	}
	for name, c := range map[string]struct {
		content []byte
		values  []float32
		shape   []int
		rate    int
	}{
		"8 bits":          {wav(1, 1, 11025, 8, 0, 128, 255, 64), []float32{-1, 0, 127. / 128, -0.5}, []int{4, 1}, 11025},
		"8 bits, odd":     {riff(wav(1, 1, 11025, 8, 192)[12:]), []float32{0.5}, []int{1, 1}, 11025},
		"16 bits, stereo": {wav(1, 2, 44100, 16, 0, 0x80, 0xff, 0x7f, 1, 0, 0, 0x40), []float32{-1, 32767. / 32768, 1. / 32768, 0.5}, []int{2, 2}, 44100},
		"24 bits":         {wav(1, 1, 8000, 24, 0, 0, 0x80, 1, 0, 0, 0xff, 0xff, 0x7f), []float32{-1, 1. / (1 << 23), 1 - 1./(1<<23)}, []int{3, 1}, 8000},
		"32 bits":         {wav(1, 1, 8000, 32, 0, 0, 0, 0x80, 0, 0, 0, 0x40), []float32{-1, 0.5}, []int{2, 1}, 8000},
		"float32":         {wav(3, 1, 8000, 32, binary.LittleEndian.AppendUint32(nil, math.Float32bits(1.5))...), []float32{1.5}, []int{1, 1}, 8000},
		"float64":         {wav(3, 1, 8000, 64, float(-0.1)...), []float32{-0.1}, []int{1, 1}, 8000},
		"extensible":      {riff(part("fmt ", extensible), part("data", []byte{0, 0, 0x40})), []float32{0.5}, []int{1, 1}, 48000},
		"streamed":        {streamed, []float32{-0.5}, []int{1, 1}, 8000},
	} {
		values, shape, rate, err := loadWAV(t, c.content)
		require.NoError(t, err, name)
		assert.Equal(t, c.values, values, name)
		assert.Equal(t, c.shape, shape, name)
		assert.Equal(t, c.rate, rate, name)
	}
}

func TestLoadWAVRejects(t *testing.T) {
	good := wav(1, 1, 8000, 16, 0, 0xc0)
	for want, content := range map[string][]byte{
		"does not begin with RIFF and WAVE":    []byte("RIFX1234WAVE"),
		"ends within its part \"data\"":        good[:len(good)-1],
		"no part \"data\"":                     riff(part("LIST", nil)),
		"before the part \"fmt \"":             riff(part("data", []byte{1, 2})),
		"the part \"fmt \" has 3 bytes":        riff(part("fmt ", []byte{1, 2, 3})),
		"encoding 6 with 8 bits":               wav(6, 1, 8000, 8, 1),
		"encoding 1 with 12 bits":              wav(1, 1, 8000, 12, 1),
		"0 channels with 8000 samples":         wav(1, 0, 8000, 8, 1),
		"1 channels with 0 samples":            wav(1, 1, 0, 8, 1),
		"3 bytes of sound; expected a mul":     wav(1, 1, 8000, 16, 1, 2, 3),
		"there are no samples in it; expected": wav(1, 1, 8000, 16),
	} {
		_, _, _, err := loadWAV(t, content)
		assert.ErrorContains(t, err, want)
	}
	_, _, err := data.LoadWAV("testdata/no.wav")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// TestAudioSamplingRate: a tone stays the tone at any rate that can hold it, and vanishes where it cannot.
func TestAudioSamplingRate(t *testing.T) {
	const tone = 440.0
	sine := func(rate, n int, hertz float64) []byte {
		var sound []byte
		for i := range n {
			x := float32(0.5 * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate)))
			sound = binary.LittleEndian.AppendUint32(sound, math.Float32bits(x))
			sound = binary.LittleEndian.AppendUint32(sound, math.Float32bits(0.25))
		}
		return wav(3, 2, rate, 32, sound...)
	}
	for _, c := range []struct {
		from, to int
		hertz    float64
		left     float64 // how much of the tone remains
	}{
		{8000, 16000, tone, 1}, {44100, 16000, tone, 1}, {16000, 44100, tone, 1}, {48000, 44100, tone, 1}, {8000, 8000, tone, 1}, {44100, 8000, tone, 1},
		{16000, 12345, tone, 1}, {44100, 16000, 9000, 0}, {48000, 8000, 6000, 0}, {8000, 16000, 3000, 1},
	} {
		dir := t.TempDir()
		writeSound(t, dir, "a/tone.wav", sine(c.from, 4001, c.hertz))
		ds, err := data.AudioDatasetFromDirectory(dir, data.AudioSamplingRate(c.to))
		require.NoError(t, err)
		x := batchesOf(t, ds, 0)[0].X.Single()
		n := (4001*c.to + c.from - 1) / c.from
		require.Equal(t, []int{1, n, 2}, x.Shape(), "%v", c)
		values, worst := x.Elements().([]float32), 0.0
		edge := 80 * max(1, c.to/c.from)
		for i := edge; i < n-edge; i++ {
			want := c.left * 0.5 * math.Sin(2*math.Pi*c.hertz*float64(i)/float64(c.to))
			worst = max(worst, math.Abs(float64(values[2*i])-want), math.Abs(float64(values[2*i+1])-0.25))
		}
		assert.Less(t, worst, 1e-4, "%v", c)
	}
	dir := t.TempDir()
	writeSound(t, dir, "a/slow.wav", wav(1, 1, 1, 8, 1, 2))
	ds, err := data.AudioDatasetFromDirectory(dir, data.AudioSamplingRate(1<<30))
	require.NoError(t, err)
	assert.ErrorContains(t, errorOf(ds), "1 samples a second; expected at least 1/256")
}

func FuzzLoadWAV(f *testing.F) {
	f.Add(wav(1, 2, 44100, 16, 0, 0x80, 0xff, 0x7f))
	f.Add(wav(3, 1, 8000, 64, make([]byte, 16)...))
	f.Add(wav(1, 1, 1, 8, 1, 2))
	path := filepath.Join(f.TempDir(), "sound.wav")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		d, rate, err := data.LoadWAV(path)
		if err != nil {
			return
		}
		if rate < 1 || len(d.Elements().([]float32)) != d.Len() {
			t.Fatalf("%d values for shape %v at rate %d", len(d.Elements().([]float32)), d.Shape(), rate)
		}
	})
}

func ExampleLoadWAV() {
	sound, rate, err := data.LoadWAV("testdata/stereo/all/a.wav")
	if err != nil {
		panic(err)
	}
	fmt.Println(sound.Shape(), rate)
	// Output: [4 2] 44100
}
