package collective

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// Security makes workers prove to each other that they belong to the job, and encrypts what they say: mutual TLS 1.3. Either give
// the three files, or a secret. It is required as soon as an address is not a loopback address.
type Security struct {
	// CAFile holds the certificates (PEM) that sign those of the workers; CertFile and KeyFile are this worker's. The name in the
	// certificates must be ServerName.
	CAFile, CertFile, KeyFile string
	ServerName                string // "": gokeras

	// Secret, of at least 16 bytes and the same on all workers, stands for files: the key of the authority is derived from it, and
	// each worker signs a certificate for itself.
	Secret []byte
}

const defaultServerName = "gokeras"

// minSecret is the least length of a secret in bytes.
const minSecret = 16

func (s *Security) config() (*tls.Config, error) {
	name := s.ServerName
	if name == "" {
		name = defaultServerName
	}
	files := s.CAFile != "" || s.CertFile != "" || s.KeyFile != ""
	var own tls.Certificate
	pool := x509.NewCertPool()
	switch {
	case files && len(s.Secret) > 0:
		return nil, errors.New("collective: Security takes files or a secret, not both")
	case files:
		text, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("collective: the authority's certificate: %w", err)
		}
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("collective: %s holds no certificate in PEM form", s.CAFile)
		}
		if own, err = tls.LoadX509KeyPair(s.CertFile, s.KeyFile); err != nil {
			return nil, fmt.Errorf("collective: this worker's certificate: %w", err)
		}
	case len(s.Secret) < minSecret:
		return nil, fmt.Errorf("collective: the secret has %d bytes; it needs at least %d", len(s.Secret), minSecret)
	default:
		authority, err := derive(s.Secret, name, &own)
		if err != nil {
			return nil, err
		}
		pool.AddCert(authority)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, RootCAs: pool, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert, ServerName: name}, nil
}

// derive makes the authority that follows from a secret, and a certificate of a new key signed by it.
func derive(secret []byte, name string, own *tls.Certificate) (*x509.Certificate, error) {
	seed, err := hkdf.Key(sha256.New, secret, nil, "gokeras collective authority 1", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("collective: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	year := 365 * 24 * time.Hour
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gokeras authority"}, NotBefore: time.Unix(0, 0),
		NotAfter: time.Unix(0, 0).Add(200 * year), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	raw, err := x509.CreateCertificate(nil, template, template, key.Public(), key) // Ed25519 needs no randomness: the same on all workers
	if err != nil {
		return nil, fmt.Errorf("collective: %w", err)
	}
	authority, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, fmt.Errorf("collective: %w", err)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("collective: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("collective: %w", err)
	}
	leaf := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "gokeras worker"}, DNSNames: []string{name}, NotBefore: time.Unix(0, 0),
		NotAfter: time.Unix(0, 0).Add(200 * year), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	raw, err = x509.CreateCertificate(rand.Reader, leaf, authority, public, key)
	if err != nil {
		return nil, fmt.Errorf("collective: %w", err)
	}
	own.Certificate, own.PrivateKey = [][]byte{raw}, private
	return authority, nil
}

// isLoopback reports whether an address, HOST:PORT, can be reached from this machine alone.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
