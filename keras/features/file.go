package features

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/keras/saving"
	"github.com/gokeras/gokeras/layers"
)

// pythonModule is the Keras module of the parts of a feature space.
const pythonModule = "keras.src.layers.preprocessing.feature_space"

// object is an object in config.json.
type object struct {
	Module     string          `json:"module"`
	ClassName  string          `json:"class_name"`
	Config     json.RawMessage `json:"config"`
	Registered *string         `json:"registered_name"`
}

type spaceConfig struct {
	Features       json.RawMessage `json:"features"`
	OutputMode     string          `json:"output_mode"`
	Crosses        []object        `json:"crosses"`
	Crossing       int             `json:"crossing_dim"`
	Hashing        int             `json:"hashing_dim"`
	Discretization int             `json:"num_discretization_bins"`
}

type featureConfig struct {
	DType        string          `json:"dtype"`
	Preprocessor json.RawMessage `json:"preprocessor"`
	OutputMode   string          `json:"output_mode"`
}

type crossConfig struct {
	Names      []string `json:"feature_names"`
	Bins       int      `json:"crossing_dim"`
	OutputMode string   `json:"output_mode"`
}

// Load reads a space that [Space.Save] or Keras's FeatureSpace.save wrote. Code in a file is never run: features use
// layers of this module, or registered ones.
func Load(path string) (*Space, error) {
	s, err := load(path)
	if err != nil {
		return nil, fmt.Errorf("features: Load: %w", atomicfile.Named(path, err))
	}
	return s, nil
}

func load(path string) (*Space, error) {
	archive, err := saving.OpenArchive(path)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	text, err := archive.Text(saving.ConfigFile)
	if err != nil {
		return nil, err
	}
	if err := saving.CheckDepth(text); err != nil {
		return nil, err
	}
	s, err := fromConfig(text)
	if err != nil {
		return nil, err
	}
	r, size, err := archive.Member(saving.WeightsFile)
	if err != nil {
		return nil, err
	}
	source, err := saving.OpenWeights(r, size)
	if err != nil {
		return nil, err
	}
	objects := s.objects()
	if err := saving.LoadArrays(source, objects); err != nil {
		return nil, err
	}
	if err := saving.LoadAssets(archive, objects); err != nil {
		return nil, err
	}
	if _, err := s.ready(); err != nil { // creates the variables
		return nil, err
	}
	_, err = saving.Load(source, s.objects(), false)
	return s, err
}

func fromConfig(text []byte) (*Space, error) {
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("%s: %w", saving.ConfigFile, err)
	}
	if o.ClassName != "FeatureSpace" {
		return nil, fmt.Errorf("the file holds a %q, expected a FeatureSpace; models are opened with keras.LoadModel", o.ClassName)
	}
	var c spaceConfig
	if err := json.Unmarshal(o.Config, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", saving.ConfigFile, err)
	}
	s := &Space{features: map[string]Feature{}, defaults: [3]int{c.Crossing, c.Hashing, c.Discretization}}
	switch c.OutputMode {
	case "dict":
		s.dict = true
	case "concat":
	default:
		return nil, fmt.Errorf("unknown output_mode %q; known: concat, dict", c.OutputMode)
	}
	if err := s.readFeatures(c.Features); err != nil {
		return nil, err
	}
	for _, o := range c.Crosses {
		var cross crossConfig
		if err := json.Unmarshal(o.Config, &cross); err != nil {
			return nil, fmt.Errorf("crosses: %w", err)
		}
		s.crosses = append(s.crosses, Cross{cross.Names, cross.Bins, cross.OutputMode})
	}
	return s, s.check()
}

// readFeatures reads the features in the order of the file, which determines where their weights are.
func (s *Space) readFeatures(raw json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("features must be an object, received %.40s", raw)
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		var o object
		var c featureConfig
		if err = d.Decode(&o); err == nil {
			err = json.Unmarshal(o.Config, &c)
		}
		if err != nil || c.Preprocessor == nil {
			return fmt.Errorf("feature %q is not the object of a feature: %.80s", name, o.Config)
		}
		f := Feature{DType: c.DType, OutputMode: c.OutputMode}
		var inner object
		if err := json.Unmarshal(c.Preprocessor, &inner); err != nil {
			return fmt.Errorf("feature %q: %w", name, err)
		}
		if inner.ClassName != "TFDIdentity" {
			if f.Preprocessor, err = layers.FromObject(c.Preprocessor, "build_config"); err != nil {
				return fmt.Errorf("feature %q: %w", name, err)
			}
		}
		if _, twice := s.features[name]; twice {
			return fmt.Errorf("feature %q is there twice", name)
		}
		s.names, s.features[name] = append(s.names, name), f
	}
	return nil
}

// objects lists the objects of the weights file, as Keras writes a space.
func (s *Space) objects() []saving.Object {
	out := []saving.Object{{Name: "feature_space"}}
	list := func(attribute string, members []layers.Layer) {
		used := map[string]int{}
		for _, l := range members {
			if l == nil {
				continue
			}
			name := layers.SnakeCase(layers.ClassName(l))
			if _, plain := l.(*layers.Identity); plain && attribute == "preprocessors" {
				name = "tfd_identity"
			}
			n := used[name]
			if used[name]++; n > 0 {
				name = fmt.Sprintf("%s_%d", name, n)
			}
			out = append(out, saving.Object{Path: attribute + "/" + name, Name: layers.Name(l), Layer: l, Variables: layers.OwnWeights(l)})
		}
	}
	var crossers, pre []layers.Layer
	for _, c := range s.crosses {
		crossers = append(crossers, s.crossers[c.Name()])
	}
	for _, name := range s.names {
		pre = append(pre, s.pre[name])
	}
	list("crossers", crossers)
	list("one_hot_encoders", s.encoders)
	list("preprocessors", pre)
	return out
}

// Save writes the space, with its learned state, as a .keras file. keras.models.load_model opens it as a FeatureSpace.
func (s *Space) Save(path string) error {
	if filepath.Ext(path) != ".keras" {
		return fmt.Errorf("features: Save: %s: the name must end in .keras", path)
	}
	contents, err := s.contents()
	if err == nil {
		err = atomicfile.Write(path, func(w io.Writer) error {
			_, err := contents.WriteTo(w)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("features: Save: %w", atomicfile.Named(path, err))
	}
	return nil
}

func (s *Space) contents() (*saving.Contents, error) {
	if _, err := s.ready(); err != nil {
		return nil, err
	}
	text, err := s.config()
	if err != nil {
		return nil, err
	}
	objects := s.objects()
	weights, err := saving.Weights(objects)
	if err != nil {
		return nil, err
	}
	assets, err := saving.Assets(objects)
	if err != nil {
		return nil, err
	}
	return &saving.Contents{Config: text, Weights: weights, Assets: assets, Saved: time.Now()}, nil
}

// config returns the text of config.json, with the features in the order of the space.
func (s *Space) config() ([]byte, error) {
	var list bytes.Buffer
	build := map[string]any{}
	for i, name := range s.names {
		f := s.features[name]
		o, shape, err := preprocessorObject(name, s.pre[name])
		if err != nil {
			return nil, fmt.Errorf("feature %q: %w", name, err)
		}
		build[name] = shape
		text, err := json.Marshal(map[string]any{
			"module": pythonModule, "class_name": "Feature", "registered_name": "Feature",
			"config": map[string]any{"dtype": f.DType, "preprocessor": o, "output_mode": f.OutputMode},
		})
		if err != nil {
			return nil, err
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			list.WriteByte(',')
		}
		list.Write(key)
		list.WriteByte(':')
		list.Write(text)
	}
	crosses := []any{}
	for _, c := range s.crosses {
		crosses = append(crosses, map[string]any{
			"module": pythonModule, "class_name": "Cross", "registered_name": "Cross",
			"config": map[string]any{"feature_names": c.Features, "crossing_dim": c.Bins, "output_mode": c.mode()},
		})
	}
	mode := "concat"
	if s.dict {
		mode = "dict"
	}
	return json.Marshal(map[string]any{
		"module": "keras.utils", "class_name": "FeatureSpace", "registered_name": nil, "build_config": build,
		"config": map[string]any{
			"features": json.RawMessage("{" + list.String() + "}"), "output_mode": mode, "crosses": crosses,
			"crossing_dim": s.defaults[0], "hashing_dim": s.defaults[1], "num_discretization_bins": s.defaults[2],
		},
	})
}

// preprocessorObject returns the object of a layer, and the shapes that it was built with.
func preprocessorObject(name string, l layers.Layer) (o, build map[string]any, err error) {
	build = map[string]any{"input_shape": []any{nil, 1}}
	if _, plain := l.(*layers.Identity); plain {
		return map[string]any{
			"module": pythonModule, "class_name": "TFDIdentity", "registered_name": "TFDIdentity", "build_config": build,
			"config": map[string]any{"name": name + "_preprocessor", "trainable": true, "dtype": "float32"},
		}, build, nil
	}
	if o, err = layers.ToObject(l); err != nil {
		return nil, nil, err
	}
	if _, keeper := l.(layers.AssetKeeper); keeper {
		build = map[string]any{}
	}
	o["build_config"] = build
	return o, build, nil
}
