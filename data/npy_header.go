package data

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parseNPYHeader reads the Python dictionary of a .npy header, such as
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28), }
//
// The three keys may come in any order, each exactly once. Nothing else is allowed.
func parseNPYHeader(text string) (npyHeader, error) {
	s := &scanner{rest: text}
	var h npyHeader
	seen := map[string]bool{}
	if err := s.expect("{"); err != nil {
		return h, err
	}
	for !s.accept("}") {
		key, err := s.quoted()
		if err != nil {
			return h, err
		}
		if seen[key] {
			return h, fmt.Errorf("key %q comes twice", key)
		}
		seen[key] = true
		if err := s.expect(":"); err != nil {
			return h, err
		}
		if err := s.value(key, &h); err != nil {
			return h, err
		}
		if s.accept(",") {
			continue
		}
		if err := s.expect("}"); err != nil {
			return h, err
		}
		break
	}
	if s.skipSpace(); s.rest != "" {
		return h, fmt.Errorf("%q follows the dictionary", abbreviate(s.rest))
	}
	if len(seen) != 3 {
		return h, errors.New("expected the keys descr, fortran_order and shape")
	}
	return h, nil
}

// scanner walks over a header.
type scanner struct{ rest string }

func (s *scanner) skipSpace() { s.rest = strings.TrimLeft(s.rest, " \t\r\n") }

func (s *scanner) accept(token string) bool {
	s.skipSpace()
	rest, ok := strings.CutPrefix(s.rest, token)
	s.rest = rest
	return ok
}

func (s *scanner) expect(token string) error {
	if !s.accept(token) {
		return fmt.Errorf("expected %q at %q", token, abbreviate(s.rest))
	}
	return nil
}

// quoted reads a string literal in either kind of quotes, without escapes.
func (s *scanner) quoted() (string, error) {
	for _, quote := range []string{"'", `"`} {
		if s.accept(quote) {
			text, rest, ok := strings.Cut(s.rest, quote)
			if !ok {
				return "", errors.New("a string does not end")
			}
			s.rest = rest
			return text, nil
		}
	}
	return "", fmt.Errorf("expected a string at %q", abbreviate(s.rest))
}

func (s *scanner) value(key string, h *npyHeader) error {
	switch key {
	case "descr":
		if s.accept("[") {
			return errors.New("the values are records; expected numbers")
		}
		descr, err := s.quoted()
		if err != nil {
			return err
		}
		return h.setDescr(descr)
	case "fortran_order":
		switch {
		case s.accept("True"):
			h.fortran = true
		case !s.accept("False"):
			return fmt.Errorf("fortran_order is %q; expected True or False", abbreviate(s.rest))
		}
		return nil
	case "shape":
		var err error
		h.shape, err = s.tuple()
		return err
	default:
		return fmt.Errorf("key %q is unknown; expected descr, fortran_order and shape", key)
	}
}

// tuple reads (), (3,), (3, 4) and the long integers (3L, 4L) of Python 2.
func (s *scanner) tuple() ([]int, error) {
	if err := s.expect("("); err != nil {
		return nil, err
	}
	shape := []int{}
	for !s.accept(")") {
		s.skipSpace()
		digits := len(s.rest) - len(strings.TrimLeft(s.rest, "0123456789"))
		n, err := strconv.Atoi(s.rest[:digits])
		if err != nil {
			return nil, fmt.Errorf("shape: expected a number at %q", abbreviate(s.rest))
		}
		s.rest = s.rest[digits:]
		_ = s.accept("L")
		if shape = append(shape, n); len(shape) > maxRank {
			return nil, fmt.Errorf("shape: more than %d dimensions", maxRank)
		}
		if s.accept(",") {
			continue
		}
		if err := s.expect(")"); err != nil {
			return nil, err
		}
		break
	}
	return shape, nil
}
