package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"drover/face/cli/explain"
	"drover/noun/fault"

	"github.com/spf13/cobra"
)

// fail reports an error on standard error and returns its exit code.
func (a *App) fail(ctx context.Context, cmd *cobra.Command, err error) int {
	var code int
	f := asFault(err)
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(a.Err, "Interrupted.")
		return ExitInterrupted
	case ctx.Err() != nil && f.Kind == fault.Timeout:
		// The call was cut off by the user's Ctrl-C.
		fmt.Fprintln(a.Err, "Interrupted:", f.What+".")
		return ExitInterrupted
	default:
		code = f.Kind.ExitCode()
	}
	f = withNext(cmd, f)
	if cmd != nil && formatOf(cmd) == "json" {
		a.printJSONError(f, code)
		return code
	}
	printFault(a.Err, f)
	if a.flags.debug {
		fmt.Fprintf(a.Err, "  kind: %s\n", f.Kind)
		if a.asked != "" {
			fmt.Fprintf(a.Err, "  request: %s\n", a.asked)
		}
		for c := error(f); c != nil; c = errors.Unwrap(c) {
			fmt.Fprintf(a.Err, "  chain: %T: %v\n", c, c)
		}
	}
	return code
}

// withNext gives an error that names no next command the one that always helps:
// the command's help for what was said wrongly, else a look at what there is.
func withNext(cmd *cobra.Command, f *fault.Error) *fault.Error {
	switch {
	case len(f.Next) > 0 || cmd == nil:
	case f.Kind == fault.Invalid:
		return f.Try(cmd.CommandPath() + " --help")
	case f.Kind == fault.NotFound || f.Kind == fault.Conflict:
		return f.Try("drover status")
	}
	return f
}

// asFault makes any error one that people can read.
func asFault(err error) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) {
		if f == err { //nolint:errorlint // only whether it is wrapped matters
			return f
		}
		c := *f
		c.Cause = err
		return &c
	}
	return fault.New(fault.Internal, "%s", strings.TrimSuffix(err.Error(), ".")).Wrap(err)
}

// printFault writes what failed, because of what, and what to run next.
func printFault(w io.Writer, f *fault.Error) {
	fmt.Fprintf(w, "Error: %s.\n", strings.TrimSuffix(f.What, "."))
	if f.Because != "" {
		for line := range strings.SplitSeq(strings.TrimRight(f.Because, "\n"), "\n") {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	next := f.Next
	if _, ok := explain.Find(f.Code); ok && f.Code != fault.CodeUsage && f.Code != fault.CodeNoSuchCommand {
		next = append(slices.Clip(next), "drover explain "+f.Code)
	}
	for i, n := range next {
		lead := "      "
		if i == 0 {
			lead = "Next: "
		}
		fmt.Fprintf(w, "%s%s\n", lead, n)
	}
}

func (a *App) printJSONError(f *fault.Error, code int) {
	next := f.Next
	if next == nil {
		next = []string{}
	}
	b, err := json.Marshal(map[string]any{"error": map[string]any{
		"kind": f.Kind.String(), "code": f.Code, "what": f.What, "because": f.Because, "next": next, "exit": code,
	}})
	if err != nil {
		printFault(a.Err, f)
		return
	}
	fmt.Fprintln(a.Err, string(b))
}

// usage is an error in the words of the command itself.
func usage(cmd *cobra.Command, format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).Coded(fault.CodeUsage).
		Why("usage: %s", cmd.UseLine()).Try(cmd.CommandPath() + " --help")
}

// needArgs checks that exactly the named arguments are there.
func needArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usage(cmd, "%s needs %s", cmd.CommandPath(), strings.Join(names[len(args):], " and "))
		}
		if len(args) > len(names) {
			return usage(cmd, "%s does not take %q", cmd.CommandPath(), args[len(names)])
		}
		return nil
	}
}

// needSome checks that there is at least one of the named argument, and at most
// most of them if most is not 0.
func needSome(name string, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(cmd, "%s needs %s", cmd.CommandPath(), name)
		}
		if most > 0 && len(args) > most {
			return usage(cmd, "%s does not take %q", cmd.CommandPath(), args[most])
		}
		return nil
	}
}

// group refuses unknown subcommands and names the nearest.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		f := fault.New(fault.Invalid, "%q is not a command of %s", args[0], cmd.CommandPath()).Coded(fault.CodeNoSuchCommand)
		var next []string
		for _, s := range cmd.SuggestionsFor(args[0]) {
			next = append(next, cmd.CommandPath()+" "+s)
		}
		if len(next) == 0 {
			return f.Try(cmd.CommandPath() + " --help")
		}
		return f.Why("the nearest is %q", strings.TrimPrefix(next[0], cmd.CommandPath()+" ")).Try(next...)
	}
	return cmd
}
