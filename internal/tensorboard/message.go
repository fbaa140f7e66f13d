package tensorboard

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of the fields, from TensorFlow's event.proto, summary.proto, tensor.proto and tensor_shape.proto.
const (
	eventWallTime       = 1
	eventStep           = 2
	eventFileVersion    = 3
	eventSummary        = 5
	eventSourceMetadata = 10

	sourceWriter = 1

	summaryValue = 1

	valueTag      = 1
	valueTensor   = 8
	valueMetadata = 9

	metadataPluginData = 1

	pluginName    = 1
	pluginContent = 2

	tensorDType   = 1
	tensorShape   = 2
	tensorContent = 4
	tensorString  = 8

	shapeDim = 2
	dimSize  = 1
)

// Element types, from types.proto.
const (
	typeFloat  = 1
	typeDouble = 2
	typeString = 7
)

// Value is one named tensor of a summary.
type Value struct {
	Tag     string
	Plugin  string // "scalars", "histograms", "images", "graph_keras_model"
	Content []byte // for the plugin
	Shape   []int
	Floats  []float32 // one of the three holds the elements
	Doubles []float64
	Strings [][]byte
}

func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

func appendVarint(b []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), value)
}

// event begins a message; zero steps are left out, as in all protocol buffers.
func event(wallTime float64, step int64) []byte {
	b := protowire.AppendFixed64(protowire.AppendTag(nil, eventWallTime, protowire.Fixed64Type), math.Float64bits(wallTime))
	if step != 0 {
		b = appendVarint(b, eventStep, uint64(step))
	}
	return b
}

// firstEvent is the first event, which identifies the file.
func firstEvent(wallTime float64) []byte {
	b := appendBytes(event(wallTime, 0), eventFileVersion, []byte("brain.Event:2"))
	return appendBytes(b, eventSourceMetadata, appendBytes(nil, sourceWriter, []byte("gokeras")))
}

// summaryEvent is an event with one value.
func summaryEvent(wallTime float64, step int64, v *Value) []byte {
	return appendBytes(event(wallTime, step), eventSummary, appendBytes(nil, summaryValue, v.marshal()))
}

func (v *Value) marshal() []byte {
	b := appendBytes(nil, valueTag, []byte(v.Tag))
	plugin := appendBytes(nil, pluginName, []byte(v.Plugin))
	if len(v.Content) > 0 {
		plugin = appendBytes(plugin, pluginContent, v.Content)
	}
	b = appendBytes(b, valueTensor, v.tensor())
	return appendBytes(b, valueMetadata, appendBytes(nil, metadataPluginData, plugin))
}

func (v *Value) tensor() []byte {
	var content []byte
	dtype := uint64(typeString)
	switch {
	case v.Floats != nil:
		dtype = typeFloat
		for _, f := range v.Floats {
			content = protowire.AppendFixed32(content, math.Float32bits(f))
		}
	case v.Doubles != nil:
		dtype = typeDouble
		for _, f := range v.Doubles {
			content = protowire.AppendFixed64(content, math.Float64bits(f))
		}
	}
	b := appendBytes(appendVarint(nil, tensorDType, dtype), tensorShape, shapeMessage(v.Shape))
	if content != nil {
		b = appendBytes(b, tensorContent, content)
	}
	for _, s := range v.Strings {
		b = appendBytes(b, tensorString, s)
	}
	return b
}
