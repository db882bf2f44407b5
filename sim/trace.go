package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"
)

// trace is what happened: all of it as a digest, the end of it as text.
type trace struct {
	sum  hash.Hash
	last []string
	also io.Writer // every line too, if set
	n    int
}

// tail is how many lines a failure shows.
const tail = 60

func newTrace(also io.Writer) *trace { return &trace{sum: sha256.New(), also: also} }

// line adds a line of the form "time  what".
func (t *trace) line(at time.Duration, format string, args ...any) {
	text := fmt.Sprintf("%10.3fs  ", at.Seconds()) + fmt.Sprintf(format, args...) + "\n"
	_, _ = io.WriteString(t.sum, text) // a hash never fails
	if t.also != nil {
		fmt.Fprint(t.also, text)
	}
	t.n++
	t.last = append(t.last, text)
	if len(t.last) > tail {
		t.last = t.last[1:]
	}
}

// digest is a digest of all lines so far.
func (t *trace) digest() string { return hex.EncodeToString(t.sum.Sum(nil))[:16] }

// end is the last lines.
func (t *trace) end() string { return strings.Join(t.last, "") }
