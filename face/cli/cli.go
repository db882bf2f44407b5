// Package cli is the command line: it turns words into calls to the servers and
// answers into text, and starts the long-running programs of the binary.
//
// It decides nothing about the cluster and reads no state but what the servers
// answer; it does not know what the programs it starts are made of: they are
// given to it as functions.
//
// Invariants: data goes to standard output, talk and errors to standard error;
// the exit code of an error is that of its kind; every read command has the
// formats table, json, yaml and name, through one renderer; nothing is coloured
// that is not also said in words.
package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"drover/wire/client"
	"drover/wire/droverv1/droverv1connect"

	"github.com/spf13/cobra"
)

// Programs are the long-running programs of the binary, and what it carries.
// Each returns when its context ends, or with the error that people shall see.
type Programs struct {
	Server  func(ctx context.Context, o ServerOptions) error
	Agent   func(ctx context.Context, o AgentOptions) error
	Machine func(ctx context.Context, o MachineOptions) error

	// Hidden are software that the demo's charms run: hidden subcommands.
	Hidden map[string]func(ctx context.Context, args []string) error

	Demo    fs.FS  // the demo: bundle.yaml and its charms
	Version string // of the program
}

// ServerOptions say how a server starts.
type ServerOptions struct {
	Data      string // the data folder
	Config    string // the folder that gets the admin's credential
	Name      string // of this server; empty: the one it has, or is given
	Join      string // a token, of a server that joins a cluster; empty: it founds one
	Cluster   string // name of a new cluster
	Listen    string // host:port
	Advertise string // host:port that others are told; empty: Listen
	Local     bool   // this server's host offers local machines
	Log       io.Writer
}

// AgentOptions say how a machine's agent starts.
type AgentOptions struct {
	Data    string // the machine's data folder
	BootID  string // of the machine; empty: the host's
	Address string // where the machine's units are reached; empty: found out
	Local   Share  // of a local machine
	Log     io.Writer
}

// Share is what a local machine has of its host. Zero: all of it.
type Share struct {
	CPUs     int
	MemoryMB int64
	DiskMB   int64
}

// MachineOptions say how a local machine's supervisor starts.
type MachineOptions struct {
	Data    string
	Detach  bool // start it in a process of its own and return when it is on
	Address string
	Local   Share
}

// Exit codes that are not a kind's.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInterrupted = 130
)

// services are the clients of a cluster.
type services struct {
	Model  droverv1connect.ModelServiceClient
	Work   droverv1connect.WorkServiceClient
	Server droverv1connect.ServerServiceClient
	Admin  droverv1connect.AdminServiceClient
	Close  func()
}

// App is one run of the command line with everything it touches. It is used by
// one goroutine.
type App struct {
	Programs Programs
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Now      func() time.Time
	NewID    func() string
	Dial     func(configDir string) (*services, error)

	flags globalFlags
	conn  *services
	used  *cobra.Command // the command that runs, for its format
	asked string         // id of the last request, for --debug
}

type globalFlags struct {
	data   string
	config string
	model  string
	color  string
	debug  bool
	quiet  bool
	yes    bool
}

// New is an App on the process's own surroundings.
func New(p Programs) *App {
	return &App{
		Programs: p, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Getenv: os.Getenv, Now: time.Now, NewID: randomID, Dial: dial,
	}
}

func randomID() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b) // never fails: see crypto/rand
	return hex.EncodeToString(b)
}

// Main runs the command line and returns the exit code. Ctrl-C, SIGTERM and the
// end of the terminal end the context; a second one ends the process.
func Main(args []string, p Programs) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)
	return New(p).Run(ctx, args)
}

// Run runs one command and returns its exit code.
func (a *App) Run(ctx context.Context, args []string) int {
	newID := a.NewID
	a.NewID = func() string {
		a.asked = newID()
		return a.asked
	}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if a.conn != nil {
		a.conn.Close()
	}
	if err == nil {
		return ExitOK
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	return a.fail(ctx, cmd, err)
}

// Exit is an error that ends the command line with the code and says nothing.
func Exit(code int) error { return exitCode(code) }

// exitCode is an error that has been reported already.
type exitCode int

func (exitCode) Error() string { return "reported" }

// services connects to the cluster of the configuration folder, once.
func (a *App) services() (*services, error) {
	if a.conn != nil {
		return a.conn, nil
	}
	c, err := a.Dial(a.configDir())
	if err != nil {
		return nil, err
	}
	a.conn = c
	return c, nil
}

func dial(configDir string) (*services, error) {
	c, err := client.FromDir(configDir)
	if err != nil {
		return nil, err
	}
	return &services{Model: c.Model, Work: c.Work, Server: c.Server, Admin: c.Admin, Close: c.Close}, nil
}

func (a *App) configDir() string {
	d := a.flags.config
	if d == "" {
		d = a.Getenv("DROVER_CONFIG")
	}
	if d == "" {
		d = filepath.Join(a.home(".config", "XDG_CONFIG_HOME"), "drover")
	}
	return absolute(d)
}

// absolute is a folder's path for programs too that run elsewhere.
func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

func (a *App) dataDir() string {
	d := a.flags.data
	if d == "" {
		d = a.Getenv("DROVER_DATA")
	}
	if d == "" {
		d = filepath.Join(a.home(".local/share", "XDG_DATA_HOME"), "drover")
	}
	return absolute(d)
}

func (a *App) home(sub, env string) string {
	if d := a.Getenv(env); filepath.IsAbs(d) {
		return d
	}
	h := a.Getenv("HOME")
	if h == "" {
		h = "."
	}
	return filepath.Join(h, sub)
}
