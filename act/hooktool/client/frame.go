// Package client is the hook tools' client: a program that starts hundreds of
// times, so it knows the standard library only and as little of that as it can.
//
// It sends its arguments to the unit agent's socket and prints the answer; it
// decides nothing. Called as drover-exec it waits for leave and becomes a hook.
//
// Invariant: a hook's program starts only after the agent has let go the gate,
// which it does once the process is in its journal.
//
// Spec: 003 "Hook tools", "Execution environment".
package client

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
)

// The bounds, in bytes, on a request or response, and on the file or standard
// input that a request carries.
const (
	MaxFrame = 64 << 20
	MaxInput = 2 << 20
)

// Request is one call of a hook tool.
type Request struct {
	Context string   `json:"context"` // $JUJU_CONTEXT_ID
	Tool    string   `json:"tool"`
	Args    []string `json:"args,omitempty"`
	Stdin   []byte   `json:"stdin,omitempty"` // what --file names
}

// Response is what the tool prints and how it exits. Stdout goes to the file
// Output instead when that is set.
type Response struct {
	Code   int    `json:"code"`
	Stdout []byte `json:"stdout,omitempty"`
	Stderr []byte `json:"stderr,omitempty"`
	Output string `json:"output,omitempty"`
}

// Write sends one frame: its length in four bytes, then JSON.
func Write(w io.Writer, frame any) error {
	body, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	if len(body) > MaxFrame {
		return errors.New("too much data for one call of a hook tool")
	}
	buf := make([]byte, 4, 4+len(body))
	binary.BigEndian.PutUint32(buf, uint32(len(body)))
	_, err = w.Write(append(buf, body...))
	return err
}

// Read receives one frame.
func Read(r io.Reader, frame any) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > MaxFrame {
		return errors.New("the frame is too long")
	}
	body, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err != nil {
		return err
	}
	if len(body) != int(n) {
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(body, frame)
}
