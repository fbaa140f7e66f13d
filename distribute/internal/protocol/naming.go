package protocol

import "fmt"

// Keys of tables with text keys are computed from the texts; see [TextKey]. The texts are stored with the rows, so that
// a table can list them, and so that two texts with the same key are detected rather than trained as one.

// maxText bounds the text of a key.
const maxText = 1 << 16

// TextKey returns the key of a text in tables with this seed. Only "" has the key 0.
func TextKey(seed uint64, text string) int64 {
	if text == "" {
		return 0
	}
	h := seed ^ uint64(len(text))*0x9E3779B97F4A7C15
	for len(text) > 0 {
		var word uint64
		n := min(len(text), 8)
		for i := range n {
			word |= uint64(text[i]) << (8 * i)
		}
		s := random(h ^ word)
		h = s.next() + h*0xBF58476D1CE4E5B9
		text = text[n:]
	}
	return max(int64(h>>1), 1)
}

func (u *Update) checkNames(t *Table) error {
	if !t.Text || !u.Sparse || len(u.Names) != len(u.IDs) || len(u.Values) != 0 {
		return fmt.Errorf("parameterserver: table %s: %d texts for %d keys, with %d numbers; expected a text for each key of a table with text keys, and no numbers", t.Name, len(u.Names), len(u.IDs), len(u.Values))
	}
	if err := t.checkIDs(u.IDs); err != nil {
		return err
	}
	for i, name := range u.Names {
		if len(name) > maxText {
			return fmt.Errorf("parameterserver: table %s: a key of %d bytes; expected at most %d", t.Name, len(name), maxText)
		}
		known, found, err := t.rows.nameOf(u.IDs[i])
		if err != nil {
			return fmt.Errorf("parameterserver: table %s: its rows on disk: %w", t.Name, err)
		}
		if found && known != "" && known != name {
			return fmt.Errorf("parameterserver: table %s: the keys %.100q and %.100q fall on the same number; give the initializer another seed", t.Name, known, name)
		}
	}
	return nil
}

// name creates missing rows of keys and notes their texts. It does not count as an update.
func (s *rowStore) name(keys []int64, names []string) {
	for i, key := range keys {
		r := s.take(key, s.t.Step)
		if s.last[r] == 0 {
			s.last[r] = s.t.Version + 1 // not to go before its first update, which follows
		}
		if s.names[r] == "" {
			s.names[r] = names[i]
		}
	}
}
