package data

import (
	"fmt"
	"os"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

type audioFolder struct {
	folderConfig
	samplingRate int // 0: that of each file
	samples      int // 0: those of the longest sound of a batch
}

type audioOption func(*audioFolder)

func (o audioOption) applySounds(f *audioFolder) { o(f) }

// AudioSamplingRate resamples the sounds of AudioDatasetFromDirectory to this many samples per second; Keras's
// sampling_rate. By default each keeps its own rate.
func AudioSamplingRate(hertz int) AudioOption {
	return audioOption(func(f *audioFolder) { f.samplingRate = hertz })
}

// OutputSequenceLength cuts the sounds of AudioDatasetFromDirectory to this many samples, and pads shorter ones with
// silence; Keras's output_sequence_length. By default the sounds of a batch are padded to the length of the longest
// one.
func OutputSequenceLength(samples int) AudioOption {
	return audioOption(func(f *audioFolder) { f.samples = samples })
}

// AudioDataset is a Pipeline of sounds in files.
type AudioDataset struct {
	*Pipeline
	ClassNames []string // the name of each class; nil for LabelNone
	Paths      []string // the files
	Classes    []int    // the class of each file; nil for LabelNone
}

// AudioDatasetFromDirectory reads the sounds below a folder that has one subfolder for each class, Keras's
// audio_dataset_from_directory:
//
//	dir/yes/1.wav, dir/yes/more/2.wav, dir/no/3.wav, ...
//
// X is float32 of shape (batch, samples, channels) with values from -1 to 1, as [LoadWAV] reads them; Y is the class,
// encoded as Labels says. It reads files ending in .wav. The options are AudioSamplingRate, OutputSequenceLength, and
// those of [ImageFolder] that do not concern pixels. Order, shuffling and the choice of validation files are the same
// as for ImageFolder.
//
// Shorter sounds of a batch are padded with silence at the end. Instead of Keras's ragged=True, use ImageBatchSize(0):
// it yields sounds one by one, each with its own length. All sounds of a batch must have the same number of channels
// (Keras adds silent channels). Sounds are resampled before they are cut, so that all have the requested length; Keras
// cuts first.
func AudioDatasetFromDirectory(dir string, options ...AudioOption) (*AudioDataset, error) {
	f := audioFolder{folderConfig: newFolder("AudioDatasetFromDirectory", ".wav")}
	f.together = true // sounds of one batch have the length of the longest
	for _, o := range options {
		if o != nil {
			o.applySounds(&f)
		}
	}
	ds, err := f.open(dir, &f)
	return (*AudioDataset)(ds), err
}

func (f *audioFolder) check() error {
	if f.samplingRate < 0 || f.samples < 0 {
		return fmt.Errorf("AudioSamplingRate %d and OutputSequenceLength %d; expected 1 or more, or 0 for those of the files", f.samplingRate, f.samples)
	}
	return f.folderConfig.check()
}

// read reads the sounds of a batch, or one sound if there are no batches.
func (f *audioFolder) read(paths []string) (Array, error) {
	sounds, longest := make([]*wave, len(paths)), 0
	for i, path := range paths {
		sound, err := f.readSound(path)
		if err != nil {
			return Array{}, atomicfile.Named(path, err)
		}
		if i > 0 && sound.channels != sounds[0].channels {
			return Array{}, fmt.Errorf("%s has %d channels and %s has %d; expected the same number in a batch", paths[0], sounds[0].channels, path, sound.channels)
		}
		sounds[i], longest = sound, max(longest, sound.samples())
	}
	if longest == 0 {
		return Array{}, fmt.Errorf("%s: %w", paths[0], errNoSound)
	}
	if f.batchSize == 0 {
		return sounds[0].dense(), nil
	}
	arrays := make([]Array, len(sounds))
	for i, s := range sounds {
		s.fit(longest)
		arrays[i] = s.dense()
	}
	return stack(arrays), nil
}

func (f *audioFolder) readSound(path string) (*wave, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sound, err := decodeWAV(content)
	if err != nil {
		return nil, err
	}
	if f.samplingRate != 0 {
		if err := sound.resample(f.samplingRate); err != nil {
			return nil, err
		}
	}
	if f.samples != 0 {
		sound.fit(f.samples)
	}
	return sound, nil
}
