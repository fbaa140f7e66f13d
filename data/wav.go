package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
)

// LoadWAV reads a .wav file, as tf.audio.decode_wav does, into float32 of shape (samples, channels) with values from -1
// to 1. samplingRate is in samples per second. Integers of 8, 16, 24 and 32 bits are divided by the largest power of
// two of their type (8-bit integers are unsigned, centred at 128); floating-point numbers of 32 and 64 bits keep their
// values. Compressed sound (A-law, ADPCM, MP3 in a .wav file) is an error.
func LoadWAV(path string) (sound Array, samplingRate int, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return Array{}, 0, fmt.Errorf("data: LoadWAV: %w", err)
	}
	w, err := decodeWAV(content)
	if err != nil {
		return Array{}, 0, fmt.Errorf("data: LoadWAV: %s: %w", path, err)
	}
	if w.samples() == 0 {
		return Array{}, 0, fmt.Errorf("data: LoadWAV: %s: %w", path, errNoSound)
	}
	return w.dense(), w.rate, nil
}

var errNoSound = errors.New("there are no samples in it; expected one or more")

// wave is a decoded sound; values are stored sample by sample, with the channels of each sample side by side.
type wave struct {
	values   []float32
	channels int
	rate     int
}

func (w *wave) samples() int { return len(w.values) / w.channels }
func (w *wave) dense() Array { return wrap(w.values, w.samples(), w.channels) }

// fit cuts the sound to the given number of samples, or pads it with silence.
func (w *wave) fit(samples int) {
	n := samples * w.channels
	if n <= len(w.values) {
		w.values = w.values[:n:n]
		return
	}
	w.values = append(w.values, make([]float32, n-len(w.values))...)
}

const (
	wavePCM        = 1
	waveFloat      = 3
	waveExtensible = 0xfffe

	untilTheEnd = math.MaxUint32 // what programs that write into a pipe say of a length that they do not know yet
)

// waveFormat is the chunk "fmt ".
type waveFormat struct {
	code, channels, bits int
	rate                 int
}

func decodeWAV(content []byte) (*wave, error) {
	if len(content) < 12 || string(content[:4]) != "RIFF" || string(content[8:12]) != "WAVE" {
		return nil, errors.New("no WAV file: it does not begin with RIFF and WAVE")
	}
	var format *waveFormat
	for rest := content[12:]; len(rest) >= 8; {
		name, size := string(rest[:4]), uint64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[8:]
		if name == "data" && size == untilTheEnd {
			size = uint64(len(rest))
		}
		if size > uint64(len(rest)) {
			return nil, fmt.Errorf("the file ends within its part %q: %d bytes are announced, %d are there", name, size, len(rest))
		}
		switch name {
		case "fmt ":
			var err error
			if format, err = parseWaveFormat(rest[:size]); err != nil {
				return nil, err
			}
		case "data":
			if format == nil {
				return nil, errors.New(`the sound stands before the part "fmt ", which describes it`)
			}
			return format.decode(rest[:size])
		}
		rest = rest[min(size+size%2, uint64(len(rest))):] // parts begin at even places
	}
	return nil, errors.New(`the file has no part "data" with the sound`)
}

func parseWaveFormat(part []byte) (*waveFormat, error) {
	if len(part) < 16 {
		return nil, fmt.Errorf(`the part "fmt " has %d bytes; expected 16 or more`, len(part))
	}
	f := &waveFormat{
		code:     int(binary.LittleEndian.Uint16(part)),
		channels: int(binary.LittleEndian.Uint16(part[2:])),
		bits:     int(binary.LittleEndian.Uint16(part[14:])),
	}
	rate := binary.LittleEndian.Uint32(part[4:])
	if f.code == waveExtensible && len(part) >= 26 {
		f.code = int(binary.LittleEndian.Uint16(part[24:]))
	}
	if f.channels == 0 || rate == 0 || rate > math.MaxInt32 {
		return nil, fmt.Errorf("%d channels with %d samples a second; expected one channel or more, and a rate from 1 to 2^31-1", f.channels, rate)
	}
	f.rate = int(rate)
	switch {
	case f.code == wavePCM && (f.bits == 8 || f.bits == 16 || f.bits == 24 || f.bits == 32):
	case f.code == waveFloat && (f.bits == 32 || f.bits == 64):
	default:
		return nil, fmt.Errorf("encoding %d with %d bits; expected integers (1) of 8, 16, 24 or 32 bits, or floating-point numbers (3) of 32 or 64: convert the file to 16 bits",
			f.code, f.bits)
	}
	return f, nil
}

func (f *waveFormat) decode(sound []byte) (*wave, error) {
	size := f.bits / 8
	if frame := size * f.channels; len(sound)%frame != 0 {
		return nil, fmt.Errorf("%d bytes of sound; expected a multiple of %d (%d channels of %d bits)", len(sound), frame, f.channels, f.bits)
	}
	values := make([]float32, len(sound)/size)
	for i := range values {
		values[i] = f.value(sound[i*size:])
	}
	return &wave{values: values, channels: f.channels, rate: f.rate}, nil
}

// value converts one number; integers are divided by a power of two, so nothing is lost up to 24 bits.
func (f *waveFormat) value(b []byte) float32 {
	switch {
	case f.code == waveFloat && f.bits == 32:
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	case f.code == waveFloat:
		return float32(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case f.bits == 8:
		return float32(int(b[0])-1<<7) / (1 << 7)
	case f.bits == 16:
		return float32(int16(binary.LittleEndian.Uint16(b))) / (1 << 15)
	case f.bits == 24:
		return float32(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)>>8) / (1 << 23)
	default:
		return float32(float64(int32(binary.LittleEndian.Uint32(b))) / (1 << 31))
	}
}
