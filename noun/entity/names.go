package entity

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"drover/noun/fault"
)

// UID is the incarnation of a row: unique for ever, so that a recreated thing
// is never taken for its predecessor.
type UID string

// The names of entities. Machine ids are decimal ("3"), or a path for a child
// machine ("3/nspawn/0"); units are "app/number". Numbers are never reused
// within a model (invariant L10).
type (
	ModelUID   string
	MachineID  string
	AppName    string
	UnitName   string
	RelationID uint64
	CharmSHA   string // hex SHA-256 of the charm archive
)

var appName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]*[a-z][a-z0-9]*)*$`)

// MaxNameLength bounds every name that people choose, in bytes.
const MaxNameLength = 63

// Validate reports whether the name can be an application's: lower-case
// letters, digits and single hyphens, no purely numeric part after a hyphen.
func (n AppName) Validate() error {
	if len(n) > MaxNameLength || !appName.MatchString(string(n)) {
		return fault.New(fault.Invalid, "%q is not a valid application name", string(n)).
			Why("names are lower-case letters, digits and hyphens, begin with a letter, are at most %d long, and no part after a hyphen is only digits", MaxNameLength)
	}
	return nil
}

// Unit is the name of the application's unit with that number.
func (n AppName) Unit(number int) UnitName {
	return UnitName(fmt.Sprintf("%s/%d", n, number))
}

// App is the application part of the unit's name.
func (n UnitName) App() AppName {
	app, _, _ := strings.Cut(string(n), "/")
	return AppName(app)
}

// Number is the number part of the unit's name; -1 when the name is malformed.
func (n UnitName) Number() int {
	_, num, ok := strings.Cut(string(n), "/")
	if !ok {
		return -1
	}
	i, err := strconv.Atoi(num)
	if err != nil || i < 0 {
		return -1
	}
	return i
}

// Validate reports whether the name is an application's name, a slash and a
// number.
func (n UnitName) Validate() error {
	if n.Number() < 0 || n.App().Validate() != nil {
		return fault.New(fault.Invalid, "%q is not a valid unit name", string(n)).
			Why("a unit is named APPLICATION/NUMBER, for example blog/0")
	}
	return nil
}

// Parent is the machine that hosts a child machine; empty for others.
func (id MachineID) Parent() MachineID {
	parts := strings.Split(string(id), "/")
	if len(parts) < 3 {
		return ""
	}
	return MachineID(strings.Join(parts[:len(parts)-2], "/"))
}

// Tag is the unit's name as a file name: "app-0".
func (n UnitName) Tag() string { return strings.ReplaceAll(string(n), "/", "-") }

// String is the decimal form.
func (r RelationID) String() string { return strconv.FormatUint(uint64(r), 10) }
