package entity

// Life is where an entity stands between creation and removal. It only ever
// goes forward (invariant L1).
//
// Spec: 000 "Entity lifecycle".
type Life uint8

// The three lives. The zero value is unset and never stored.
const (
	_ Life = iota
	Alive
	Dying
	Dead
	numLives
)

var lifeNames = [numLives]string{"unset", "alive", "dying", "dead"}

// String is the life in lower case, as status and JSON show it.
func (l Life) String() string {
	if l >= numLives {
		return "invalid"
	}
	return lifeNames[l]
}

// ParseLife is the inverse of String; anything else is the zero Life.
func ParseLife(s string) Life {
	for l := Alive; l < numLives; l++ {
		if lifeNames[l] == s {
			return l
		}
	}
	return 0
}
