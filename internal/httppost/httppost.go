// Package httppost is where programs that send something over HTTP put what sends it, so that the others do not link a
// client of HTTP with all that belongs to TLS.
package httppost

import "time"

// Request is a POST request.
type Request struct {
	Address, ContentType, Body string
	Headers                    map[string]string
	Timeout                    time.Duration
}

// Send sends a request and waits for the answer, at which nobody looks; nil in programs that have not imported
// callbacks/remote.
var Send func(Request) error
