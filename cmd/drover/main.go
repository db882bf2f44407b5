// Command drover is the one program that people run: the command line, the
// server, the agent, and what up installs of itself.
//
// It wires: each of its files makes one program of packages that do not know
// each other. Nothing is decided here.
package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"

	"drover/act/executor/shim"
	"drover/act/hooktool/client"
	demo "drover/examples/demo"
	"drover/examples/demo/software"
	"drover/face/cli"
)

// version is set when a release is built.
var version = ""

func main() {
	// Where the small programs could not be built, links with their names lead
	// here, and a hook's tools are links to those.
	switch name := filepath.Base(os.Args[0]); {
	case name == "drover-shim":
		os.Exit(shim.Main(os.Args))
	case name == client.Program || name == client.ExecName || insideHook(name):
		os.Exit(client.Main(os.Args))
	}
	os.Exit(cli.Main(os.Args[1:], cli.Programs{
		Server:  runServer,
		Agent:   runAgent,
		Machine: runMachine,
		Hidden: map[string]func(context.Context, []string) error{
			"demo-store": software.Store,
			"demo-page":  software.Page,
			"demo-web":   software.Web,
		},
		Demo:    demo.Files,
		Version: versionText(),
	}))
}

// insideHook reports whether the program was called by a hook under the name of
// a tool.
func insideHook(name string) bool {
	return name != "drover" && os.Getenv("JUJU_CONTEXT_ID") != ""
}

// versionText is the release, or the commit that the program was built from.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+changes"
			}
		}
	}
	const short = 12
	if commit == "" {
		return "devel"
	}
	return "devel-" + commit[:min(len(commit), short)] + dirty
}

func newLog(to *os.File, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: level}))
}
