package tensorboard

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"

	"google.golang.org/protobuf/encoding/protowire"
)

// Event is one entry of an event file.
type Event struct {
	WallTime    float64
	Step        int64
	FileVersion string
	Values      []Value
	Graph       []GraphNode // as far as Writer.Graph writes it, without types, shapes and texts
}

// ReadFile reads an event file.
func ReadFile(path string) ([]Event, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f)
}

// Read reads the events of a file. A file that ends inside a record, or holds a wrong checksum, is an error.
func Read(from io.Reader) ([]Event, error) {
	r := bufio.NewReader(from)
	var events []Event
	for {
		payload, err := readRecord(r)
		if err == io.EOF {
			return events, nil
		}
		if err != nil {
			return events, fmt.Errorf("tensorboard: record %d: %w", len(events), err)
		}
		e, err := parseEvent(payload)
		if err != nil {
			return events, fmt.Errorf("tensorboard: record %d: %w", len(events), err)
		}
		events = append(events, e)
	}
}

// field is one field of a message: a number for varints and fixed lengths, bytes for the rest.
type field struct {
	number protowire.Number
	bits   uint64
	bytes  []byte
}

// fields calls f for each field of a message.
func fields(message []byte, f func(field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		v := field{number: number}
		switch kind {
		case protowire.VarintType:
			v.bits, n = protowire.ConsumeVarint(message)
		case protowire.Fixed32Type:
			var bits uint32
			bits, n = protowire.ConsumeFixed32(message)
			v.bits = uint64(bits)
		case protowire.Fixed64Type:
			v.bits, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

func parseEvent(message []byte) (e Event, err error) {
	err = fields(message, func(f field) error {
		switch f.number {
		case eventWallTime:
			e.WallTime = math.Float64frombits(f.bits)
		case eventStep:
			e.Step = int64(f.bits)
		case eventFileVersion:
			e.FileVersion = string(f.bytes)
		case eventGraph:
			nodes, err := parseGraph(f.bytes)
			e.Graph = nodes
			return err
		case eventSummary:
			return fields(f.bytes, func(f field) error {
				if f.number != summaryValue {
					return nil
				}
				v, err := parseValue(f.bytes)
				e.Values = append(e.Values, v)
				return err
			})
		}
		return nil
	})
	return e, err
}

func parseValue(message []byte) (v Value, err error) {
	err = fields(message, func(f field) error {
		switch f.number {
		case valueTag:
			v.Tag = string(f.bytes)
		case valueTensor:
			return v.parseTensor(f.bytes)
		case valueMetadata:
			return fields(f.bytes, func(f field) error {
				if f.number != metadataPluginData {
					return nil
				}
				return fields(f.bytes, func(f field) error {
					switch f.number {
					case pluginName:
						v.Plugin = string(f.bytes)
					case pluginContent:
						v.Content = f.bytes
					}
					return nil
				})
			})
		}
		return nil
	})
	return v, err
}

func (v *Value) parseTensor(message []byte) error {
	var dtype uint64
	var content []byte
	err := fields(message, func(f field) error {
		switch f.number {
		case tensorDType:
			dtype = f.bits
		case tensorContent:
			content = f.bytes
		case tensorString:
			v.Strings = append(v.Strings, f.bytes)
		case tensorShape:
			return fields(f.bytes, func(f field) error {
				size := uint64(0)
				err := fields(f.bytes, func(f field) error {
					if f.number == dimSize {
						size = f.bits
					}
					return nil
				})
				v.Shape = append(v.Shape, int(size))
				return err
			})
		}
		return nil
	})
	for ; dtype == typeFloat && len(content) >= 4; content = content[4:] {
		bits, _ := protowire.ConsumeFixed32(content)
		v.Floats = append(v.Floats, math.Float32frombits(bits))
	}
	for ; dtype == typeDouble && len(content) >= 8; content = content[8:] {
		bits, _ := protowire.ConsumeFixed64(content)
		v.Doubles = append(v.Doubles, math.Float64frombits(bits))
	}
	return err
}
