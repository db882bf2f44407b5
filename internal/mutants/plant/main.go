// Command plant runs the tests against every planted mistake of
// testdata/mutants, or against those named, and fails if one is not noticed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"

	"drover/internal/mutants"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	survivors, err := plant(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
	if survivors > 0 {
		fmt.Fprintf(os.Stderr, "mutants: %d planted mistakes were not noticed\n", survivors)
		os.Exit(1)
	}
}

func plant(ctx context.Context, names []string) (survivors int, err error) {
	all, err := mutants.Load(os.DirFS("."), "testdata/mutants")
	if err != nil {
		return 0, err
	}
	for _, m := range all {
		if len(names) > 0 && !slices.Contains(names, m.Name) {
			continue
		}
		noticed, err := m.Noticed(ctx, ".")
		switch {
		case err != nil:
			return survivors, err
		case noticed:
			fmt.Printf("noticed   %-32s %s\n", m.Name, m.Why)
		default:
			survivors++
			fmt.Printf("SURVIVED  %-32s %s\n", m.Name, m.Why)
		}
	}
	return survivors, nil
}
