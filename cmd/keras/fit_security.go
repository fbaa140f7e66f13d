package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gokeras/gokeras/distribute/collective"
)

// secretVariable holds a secret that all workers share, and of which they prove their knowledge to each other. keras
// launch creates one for each job.
const secretVariable = "KERAS_SECRET"

// securityFlags say how workers authenticate each other.
type securityFlags struct{ secretFile, caFile, certFile, keyFile string }

func (f *securityFlags) register(s *pflag.FlagSet) {
	s.StringVar(&f.secretFile, "secret-file", "", "file with the secret that all workers share, as keras secret makes it (default: the variable "+secretVariable+"); workers of several\nmachines need it, or certificates, and encrypt what they say")
	s.StringVar(&f.caFile, "tls-ca", "", "certificates, PEM, that sign those of the workers")
	s.StringVar(&f.certFile, "tls-cert", "", "certificate of this worker, PEM, for the name gokeras")
	s.StringVar(&f.keyFile, "tls-key", "", "its key, PEM")
}

// given reports whether any was set.
func (f *securityFlags) given() bool { return *f != securityFlags{} }

// security returns how the workers authenticate each other; nil means not at all, which is enough on the loopback
// interface.
func (f *securityFlags) security() (*collective.Security, error) {
	files := 0
	for _, name := range []string{f.caFile, f.certFile, f.keyFile} {
		if name != "" {
			files++
		}
	}
	switch {
	case files > 0 && (files < 3 || f.secretFile != ""):
		return nil, usagef("fit: workers prove who they are with --tls-ca, --tls-cert and --tls-key together, or with --secret-file alone")
	case files > 0:
		return &collective.Security{CAFile: f.caFile, CertFile: f.certFile, KeyFile: f.keyFile}, nil
	case f.secretFile != "":
		text, err := os.ReadFile(f.secretFile)
		if err != nil {
			return nil, fmt.Errorf("fit: --secret-file: %w", err)
		}
		return &collective.Security{Secret: bytes.TrimSpace(text)}, nil
	case os.Getenv(secretVariable) != "":
		return &collective.Security{Secret: []byte(strings.TrimSpace(os.Getenv(secretVariable)))}, nil
	}
	return nil, nil
}
