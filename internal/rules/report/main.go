// Command report prints which rules of the ledger tests cover, and which not.
//
// It reads docs/spec/rules.tsv and the tests below the current folder. With -v
// it also lists the tests of each covered rule. It fails when a test names a
// rule that the ledger does not have.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"drover/internal/rules"
)

func main() {
	verbose := flag.Bool("v", false, "list the tests of each covered rule too")
	flag.Parse()
	if err := report(os.Stdout, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "rules:", err)
		os.Exit(1)
	}
}

func report(w io.Writer, verbose bool) error {
	data, err := os.ReadFile("docs/spec/rules.tsv")
	if err != nil {
		return err
	}
	ledger, err := rules.Read(data)
	if err != nil {
		return err
	}
	claims, err := rules.Claims(os.DirFS("."))
	if err != nil {
		return err
	}
	rules.Print(w, ledger, claims, verbose)
	if unknown := rules.Unknown(ledger, claims); len(unknown) > 0 {
		return fmt.Errorf("%d claims of unknown rules, the first %s at %s", len(unknown), unknown[0].ID, unknown[0].At)
	}
	return nil
}
