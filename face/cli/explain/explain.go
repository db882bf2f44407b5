// Package explain is the book of error codes: what each stable code means and
// what to do about it, readable without a server.
//
// It explains codes only; what failed just now, and why, the error itself says.
//
// Invariant: every code of noun/fault has exactly one page, and there are no
// others.
package explain

import (
	"slices"
	"strings"
)

// Page is what there is to say about one code.
type Page struct {
	Code    string
	Title   string
	Meaning string   // when it appears
	Todo    []string // what to do, the most likely first; commands stand in backquotes
}

// Find is the page of a code, in any case and with or without "DRV-".
func Find(code string) (Page, bool) {
	code = strings.ToUpper(strings.TrimSpace(code))
	if strings.HasPrefix(code, "E") {
		code = "DRV-" + code
	}
	i := slices.IndexFunc(pages, func(p Page) bool { return p.Code == code })
	if i < 0 {
		return Page{}, false
	}
	return pages[i], true
}

// All are the pages in the order of their codes. The caller must not change them.
func All() []Page { return pages }

// String is the page as people read it.
func (p Page) String() string {
	var b strings.Builder
	b.WriteString(p.Code + "  " + p.Title + "\n\n" + fill(p.Meaning, "") + "\nWhat to do\n")
	for _, t := range p.Todo {
		b.WriteString("  - " + strings.TrimPrefix(fill(t, "    "), "    "))
	}
	return b.String()
}

const lineWidth = 78

// fill breaks text into lines that begin with the indent.
func fill(text, indent string) string {
	var b strings.Builder
	n := 0
	for _, word := range strings.Fields(text) {
		switch {
		case n == 0:
			b.WriteString(indent)
			n = len(indent)
		case n+1+len(word) > lineWidth:
			b.WriteString("\n" + indent)
			n = len(indent)
		default:
			b.WriteString(" ")
			n++
		}
		b.WriteString(word)
		n += len(word)
	}
	return b.String() + "\n"
}
