// Package httppost holds the function that sends HTTP requests, registered only by programs that need it, so that the
// others do not link an HTTP client and TLS.
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
