package collective

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"os"
	"slices"
	"time"

	"github.com/gokeras/gokeras/internal/ports"
)

// Security makes workers prove to each other that they belong to the job, and encrypts their messages, with mutual TLS
// 1.3. Set either the three files or a secret. It is required if an address is not a loopback address.
type Security struct {
	// CAFile holds the certificates (PEM) that sign those of the workers; CertFile and KeyFile are this worker's. The
	// name in the certificates must be ServerName. If files are replaced while a job runs, before the certificates
	// expire, the next connection uses the new ones.
	CAFile, CertFile, KeyFile string
	ServerName                string // "": gokeras

	// Secret, the same on all workers, replaces the files: the key of the authority is derived from it, and each worker
	// signs a certificate for itself. It is 32 random bytes, raw or as 64 hexadecimal digits, from [NewSecret], the
	// command keras secret, or openssl rand -hex 32. Other texts are refused: an attacker who records a handshake could
	// guess a password that a person would think of.
	Secret []byte
}

const defaultServerName = "gokeras"

// secretBytes is the number of random bytes of a secret.
const secretBytes = 32

// leastDistinct is the smallest number of distinct bytes of a secret. 32 random bytes have fewer once in 10^12 times.
const leastDistinct = 18

// NewSecret makes a secret for the workers of a job, 64 hexadecimal digits.
func NewSecret() string {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // it never fails
	return hex.EncodeToString(secret)
}

// decodeSecret returns the bytes of a secret, and an error if it cannot be random.
func decodeSecret(secret []byte) ([]byte, error) {
	raw := secret
	if len(secret) == hex.EncodedLen(secretBytes) {
		raw = make([]byte, secretBytes)
		if _, err := hex.Decode(raw, secret); err != nil {
			return nil, errSecret(len(secret))
		}
	} else if len(secret) != secretBytes || !slices.ContainsFunc(secret, func(b byte) bool { return b < ' ' || b > '~' }) { // a text of 32 characters
		return nil, errSecret(len(secret))
	}
	distinct := slices.Clone(raw)
	slices.Sort(distinct)
	if n := len(slices.Compact(distinct)); n < leastDistinct {
		return nil, fmt.Errorf("collective: the secret has %d different bytes of 32, so it is not random; make one with the command keras secret, or openssl rand -hex 32", n)
	}
	return raw, nil
}

func errSecret(n int) error {
	return fmt.Errorf("collective: the secret has %d bytes; expected 32 random bytes as 64 hexadecimal digits, which cannot be guessed; make one with the command "+
		"keras secret, or openssl rand -hex 32", n)
}

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
		if until := own.Leaf.NotAfter; time.Now().After(until) {
			return nil, fmt.Errorf("collective: this worker's certificate %s has expired on %v; put a new one in its place", s.CertFile, until)
		}
	default:
		secret, err := decodeSecret(s.Secret)
		if err != nil {
			return nil, err
		}
		authority, err := derive(secret, name, &own)
		if err != nil {
			return nil, err
		}
		pool.AddCert(authority)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, RootCAs: pool, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert, ServerName: name}, nil
}

// derive creates the certificate authority that follows from a secret, and a certificate for a new key signed by it.
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

// TLS returns the configuration of mutually authenticated connections, for services other than those of this package.
func (s *Security) TLS() (*tls.Config, error) { return s.config() }

// IsLoopback reports whether an address, HOST:PORT, can be reached from this machine alone, so that it needs no
// [Security].
func IsLoopback(address string) bool { return ports.Loopback(address) }
