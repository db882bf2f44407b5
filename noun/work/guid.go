package work

import (
	"regexp"

	"drover/noun/fault"
)

var guid = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// MaxGUID bounds guids and domains, in bytes.
const MaxGUID = 255

// ValidateGUID reports whether a client may use the text as a guid: letters,
// digits, '_' and '-', at most MaxGUID bytes. What names the thing in errors.
func ValidateGUID(what, text string) error {
	if len(text) > MaxGUID || !guid.MatchString(text) {
		return fault.New(fault.Invalid, "%q is not a valid %s", text, what).
			Why("it must be letters, digits, '_' and '-', at most %d", MaxGUID)
	}
	return nil
}
