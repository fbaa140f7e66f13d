package data

import (
	"fmt"
	"os"
)

// AudioSamplingRate resamples the sounds of AudioDatasetFromDirectory to this many samples per second; Keras's
// sampling_rate. By default each keeps its own rate.
func AudioSamplingRate(hertz int) AudioOption {
	return audioOption(func(c *folderConfig) { c.samplingRate = hertz })
}

// OutputSequenceLength cuts the sounds of AudioDatasetFromDirectory to this many samples, and pads shorter ones with
// silence; Keras's output_sequence_length. By default the sounds of a batch have the length of its longest.
func OutputSequenceLength(samples int) AudioOption {
	return audioOption(func(c *folderConfig) { c.samples = samples })
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
// X is float32 of shape (batch, samples, channels) with values from -1 to 1, as [LoadWAV] reads them; Y is the class as
// Labels says. Files ending in .wav count. The options are those of [ImageFolder] that are not about pixels,
// AudioSamplingRate and OutputSequenceLength; order, shuffling and the choice of validation files are as there.
//
// Sounds of a batch that are shorter than its longest end in silence. In place of Keras's ragged=True,
// ImageBatchSize(0) yields them one by one, each with its own length. All sounds of a batch must have the same number
// of channels (Keras adds silent channels). Sounds are resampled before they are cut, so that all have the requested
// length; Keras cuts first.
func AudioDatasetFromDirectory(dir string, options ...AudioOption) (*AudioDataset, error) {
	c := folderConfig{labels: LabelInt, batchSize: DefaultBatchSize, suffixes: []string{".wav"}}
	for _, o := range options {
		if o != nil {
			o.applySounds(&c)
		}
	}
	files, err := c.openSounds(dir)
	if err != nil {
		return nil, fmt.Errorf("data: AudioDatasetFromDirectory: %w", err)
	}
	pipeline := c.wholeBatches("AudioDatasetFromDirectory", files, c.readSounds)
	return &AudioDataset{Pipeline: pipeline, ClassNames: files.ClassNames, Paths: files.Paths, Classes: files.Classes}, nil
}

func (c *folderConfig) openSounds(dir string) (*ImageDataset, error) {
	if c.samplingRate < 0 || c.samples < 0 {
		return nil, fmt.Errorf("AudioSamplingRate %d and OutputSequenceLength %d; expected 1 or more, or 0 for those of the files", c.samplingRate, c.samples)
	}
	if err := c.check(1, 1); err != nil {
		return nil, err
	}
	return c.files(dir)
}

func (c *folderConfig) readSounds(ds *ImageDataset, order []int) (Batch, error) {
	sounds, labels, longest := make([]*wave, len(order)), make([]Batch, len(order)), 0
	for i, file := range order {
		sound, err := c.readSound(ds.Paths[file])
		if err != nil {
			return Batch{}, fmt.Errorf("data: AudioDatasetFromDirectory: %s: %w", ds.Paths[file], err)
		}
		if i > 0 && sound.channels != sounds[0].channels {
			return Batch{}, fmt.Errorf("data: AudioDatasetFromDirectory: %s has %d channels and %s has %d; expected the same number in a batch",
				ds.Paths[order[0]], sounds[0].channels, ds.Paths[file], sound.channels)
		}
		sounds[i], longest = sound, max(longest, sound.samples())
		labels[i].Y = c.label(ds, file)
	}
	if longest == 0 {
		return Batch{}, fmt.Errorf("data: AudioDatasetFromDirectory: %s: %w", ds.Paths[order[0]], errNoSound)
	}
	if c.batchSize == 0 {
		return Batch{X: List(sounds[0].dense()), Y: labels[0].Y}, nil
	}
	arrays := make([]Array, len(sounds))
	for i, s := range sounds {
		s.fit(longest)
		arrays[i] = s.dense()
	}
	batch := stackBatch(labels)
	batch.X = List(stack(arrays))
	return batch, nil
}

func (c *folderConfig) readSound(path string) (*wave, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sound, err := decodeWAV(content)
	if err != nil {
		return nil, err
	}
	if c.samplingRate != 0 {
		if err := sound.resample(c.samplingRate); err != nil {
			return nil, err
		}
	}
	if c.samples != 0 {
		sound.fit(c.samples)
	}
	return sound, nil
}
