package rules

import (
	"fmt"
	"io"
	"strings"
)

// Print writes the rules under their headings, "x" before a covered one, and a
// table of counts per family at the end.
func Print(w io.Writer, ledger []Rule, claims []Claim, verbose bool) {
	at := map[string][]string{}
	for _, c := range claims {
		at[c.ID] = append(at[c.ID], c.At)
	}
	var families []string
	total, covered := map[string]int{}, map[string]int{}
	heading := ""
	for _, r := range ledger {
		if h := r.Seed + " " + r.Heading; h != heading {
			heading = h
			fmt.Fprintf(w, "\n%s\n", h)
		}
		mark := " "
		if len(at[r.ID]) > 0 {
			mark = "x"
			covered[r.Family()]++
		}
		if total[r.Family()] == 0 {
			families = append(families, r.Family())
		}
		total[r.Family()]++
		fmt.Fprintf(w, "  [%s] %s %s\n", mark, r.ID, shorten(r.Text, 110))
		if verbose {
			for _, place := range at[r.ID] {
				fmt.Fprintf(w, "        %s\n", place)
			}
		}
	}
	fmt.Fprintf(w, "\n%-8s %8s %8s\n", "family", "covered", "of")
	all := 0
	for _, f := range families {
		fmt.Fprintf(w, "%-8s %8d %8d\n", f, covered[f], total[f])
		all += covered[f]
	}
	fmt.Fprintf(w, "%-8s %8d %8d\n", "all", all, len(ledger))
}

func shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return strings.TrimSpace(string(r[:most-1])) + "…"
	}
	return s
}
