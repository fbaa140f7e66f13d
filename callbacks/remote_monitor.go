package callbacks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/gokeras/gokeras/internal/httppost"
)

// RemoteMonitor sends the values of each epoch to a server: a POST request to Root + Path with a JSON object, {"epoch":
// 0, "loss": 0.5, ...}, with epochs counted from 0. By default the object is the value of the form field named Field;
// with SendAsJSON it is the body. If the server cannot be reached, a warning is printed once per run and training
// continues. The server's answers are ignored.
//
// With several workers only the chief sends.
//
// The program must import callbacks/remote, which contains the HTTP client, for its side effect. It is a separate
// package because most programs need no HTTP client.
//
// JSON has no NaN and infinity: in a form they are written as NaN and Infinity, as Python does; in a JSON body they
// become null.
type RemoteMonitor struct {
	Base
	// Root is the address of the server; "" is "http://localhost:9000".
	Root string `keras:"root,default=http://localhost:9000"`
	// Path is added to Root; "" is "/publish/epoch/end/".
	Path string `keras:"path,default=/publish/epoch/end/"`
	// Field is the name of the form field; "" is "data".
	Field string `keras:"field,default=data"`
	// Headers are added to each request.
	Headers map[string]string `keras:"headers"`
	// SendAsJSON sends the object as application/json.
	SendAsJSON bool `keras:"send_as_json"`
	// Timeout limits each request, so that a server that hangs does not hold up training; 0 is 10 seconds.
	Timeout time.Duration

	warned bool
}

func (c *RemoteMonitor) root() string {
	if c.Root == "" {
		return "http://localhost:9000"
	}
	return c.Root
}

func (c *RemoteMonitor) address() string {
	path := c.Path
	if path == "" {
		path = "/publish/epoch/end/"
	}
	return c.root() + path
}

// OnTrainBegin checks the address.
func (c *RemoteMonitor) OnTrainBegin() error {
	c.warned = false
	if httppost.Send == nil {
		return fmt.Errorf(`callbacks: RemoteMonitor: the program has no client of HTTP; import _ "github.com/gokeras/gokeras/callbacks/remote"`)
	}
	u, err := url.Parse(c.address())
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("callbacks: RemoteMonitor: Root and Path give %q; expected an address such as \"http://localhost:9000/publish/epoch/end/\"", c.address())
	}
	return nil
}

// OnEpochEnd sends the values.
func (c *RemoteMonitor) OnEpochEnd(epoch int, logs *Logs) error {
	if !writesFiles(c.Model()) {
		return nil
	}
	object := c.object(epoch, logs)
	if err := logs.Err(); err != nil {
		return err
	}
	body, kind := object, "application/json"
	if !c.SendAsJSON {
		field := c.Field
		if field == "" {
			field = "data"
		}
		body, kind = url.Values{field: {object}}.Encode(), "application/x-www-form-urlencoded"
	}
	if err := c.post(body, kind); err != nil && !c.warned {
		c.warned = true
		fmt.Fprintf(c.Model().Output(), "Could not reach RemoteMonitor root server at %s: %v\n", c.root(), err)
	}
	return nil
}

func (c *RemoteMonitor) post(body, kind string) error {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	return httppost.Send(httppost.Request{Address: c.address(), ContentType: kind, Body: body, Headers: c.Headers, Timeout: timeout})
}

// object writes the values as Python's json.dumps does.
func (c *RemoteMonitor) object(epoch int, logs *Logs) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"epoch": %d`, epoch)
	for _, name := range logs.Names() {
		b.WriteString(", " + quoteJSON(name) + ": ")
		v := logs.Vector(name)
		if len(v) == 1 {
			b.WriteString(c.number(v[0]))
			continue
		}
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = c.number(x)
		}
		b.WriteString("[" + strings.Join(parts, ", ") + "]")
	}
	b.WriteString("}")
	return b.String()
}

func (c *RemoteMonitor) number(x float64) string {
	switch {
	case !math.IsNaN(x) && !math.IsInf(x, 0):
		return repr(x)
	case c.SendAsJSON:
		return "null"
	case math.IsNaN(x):
		return "NaN"
	case x > 0:
		return "Infinity"
	}
	return "-Infinity"
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// WantsBatches reports that RemoteMonitor uses epoch hooks only.
func (c *RemoteMonitor) WantsBatches() bool { return false }
