package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"drover/noun/fault"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
)

// liveNames bounds how long completion waits for the server.
const liveNames = 300 * time.Millisecond

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, liveNames)
}

// names asks the server for the names of a kind; none when it does not answer
// in time.
func (a *App) names(ctx context.Context, kind string) []string {
	s, err := a.services()
	if err != nil {
		return nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	resp, err := s.Server.Names(ctx, connect.NewRequest(&droverv1.NamesRequest{Model: a.flags.model, Kind: kind}))
	if err != nil {
		return nil
	}
	return resp.Msg.Names
}

// completeNames completes the first most arguments (0: all) with live names.
func (a *App) completeNames(most int, kinds ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var found []cobra.Completion
		for _, kind := range kinds {
			for _, n := range a.names(cmd.Context(), kind) {
				if !contains(args, n) {
					found = append(found, n)
				}
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// shells are how each shell gets its script and where that lies.
var shells = []struct {
	name   string
	script func(root *cobra.Command, b *bytes.Buffer) error
	file   string // below the home folder
	hint   string
}{
	{"bash", func(r *cobra.Command, b *bytes.Buffer) error { return r.GenBashCompletionV2(b, true) },
		".local/share/bash-completion/completions/drover", "it is used in new shells if bash-completion is installed"},
	{"zsh", func(r *cobra.Command, b *bytes.Buffer) error { return r.GenZshCompletion(b) },
		".zfunc/_drover", "put this into ~/.zshrc before compinit: fpath+=~/.zfunc"},
	{"fish", func(r *cobra.Command, b *bytes.Buffer) error { return r.GenFishCompletion(b, true) },
		".config/fish/completions/drover.fish", "it is used in new shells"},
	{"powershell", func(r *cobra.Command, b *bytes.Buffer) error { return r.GenPowerShellCompletionWithDesc(b) },
		".config/powershell/drover.ps1", "put this into your profile: . ~/.config/powershell/drover.ps1"},
}

func (a *App) completionCmd() *cobra.Command {
	cmd := group(&cobra.Command{Use: "completion", Short: "Shell completion: print or install it"})
	for _, sh := range shells {
		cmd.AddCommand(&cobra.Command{
			Use: sh.name, Short: "Print the completion script for " + sh.name, Args: needArgs(),
			RunE: func(cmd *cobra.Command, _ []string) error {
				var b bytes.Buffer
				if err := sh.script(cmd.Root(), &b); err != nil {
					return err
				}
				return a.write(b.Bytes())
			},
		})
	}
	cmd.AddCommand(a.completionInstallCmd())
	return cmd
}

func (a *App) completionInstallCmd() *cobra.Command {
	return &cobra.Command{
		Use: "install [SHELL]", Short: "Install completion for your shell ($SHELL)",
		RunE: func(cmd *cobra.Command, args []string) error {
			name := filepath.Base(a.Getenv("SHELL"))
			if len(args) > 0 {
				name = args[0]
			}
			var known []string
			for _, sh := range shells {
				known = append(known, sh.name)
				if sh.name != name {
					continue
				}
				var b bytes.Buffer
				if err := sh.script(cmd.Root(), &b); err != nil {
					return err
				}
				file := filepath.Join(a.Getenv("HOME"), filepath.FromSlash(sh.file))
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					return fault.New(fault.Denied, "cannot make %s", filepath.Dir(file)).Why("%s", reason(err)).Wrap(err)
				}
				if err := renameio.WriteFile(file, b.Bytes(), 0o644, renameio.WithTempDir(filepath.Dir(file))); err != nil {
					return fault.New(fault.Denied, "cannot write %s", file).Why("%s", reason(err)).Wrap(err)
				}
				a.say("Wrote %s; %s.", file, sh.hint)
				return nil
			}
			return fault.New(fault.Invalid, "there is no completion for %q", name).Why("known shells are %s", orList(known)).
				Try(fmt.Sprintf("drover completion install %s", known[0]))
		},
	}
}
