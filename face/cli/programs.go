package cli

import (
	"net"
	"os"
	"path/filepath"
	"time"

	"drover/noun/fault"
	"drover/wire/client"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

// DefaultListen is where a server listens unless told otherwise.
const DefaultListen = "127.0.0.1:7443"

// defaultListen is where up has the server listen without --listen.
func (a *App) defaultListen() string {
	if v := a.Getenv("DROVER_LISTEN"); v != "" {
		return v
	}
	return DefaultListen
}

// localFlags are the flags of what a local machine is told.
func localFlags(cmd *cobra.Command, address *string, s *Share) {
	cmd.Flags().StringVar(address, "address", "", "where the machine's units are reached")
	cmd.Flags().IntVar(&s.CPUs, "cpus", 0, "CPUs that the machine may use")
	cmd.Flags().Int64Var(&s.MemoryMB, "memory", 0, "MiB of memory that the machine may use")
	cmd.Flags().Int64Var(&s.DiskMB, "disk", 0, "MiB of disk that the machine may use")
}

func (a *App) agentCmd() *cobra.Command {
	o := AgentOptions{Log: a.Err}
	cmd := &cobra.Command{
		Use: "agent", Short: "Run a machine's agent in the foreground", Args: needArgs(),
		Long: `Run a machine's agent in the foreground.

The data folder (--data) is the machine's: it holds the identity that
drover join wrote there, or a file "join-token" to join with.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Data = a.dataDir()
			return a.program(cmd, a.Programs.Agent == nil, func() error { return a.Programs.Agent(cmd.Context(), o) })
		},
	}
	localFlags(cmd, &o.Address, &o.Local)
	cmd.Flags().StringVar(&o.BootID, "boot-id", "", "id of the machine's boot (default: the host's)")
	return cmd
}

func (a *App) machineCmd() *cobra.Command {
	o := MachineOptions{}
	cmd := &cobra.Command{
		Use: "machine", Short: "Run a local machine: supervise its agent and all below it", Hidden: true, Args: needArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Data = a.dataDir()
			return a.program(cmd, a.Programs.Machine == nil, func() error { return a.Programs.Machine(cmd.Context(), o) })
		},
	}
	localFlags(cmd, &o.Address, &o.Local)
	cmd.Flags().BoolVar(&o.Detach, "detach", false, "return when it is on")
	return cmd
}

func (a *App) program(cmd *cobra.Command, missing bool, run func() error) error {
	if missing {
		return fault.New(fault.Internal, "this program was built without %s", cmd.Name())
	}
	return run()
}

func (a *App) joinTokenCmd() *cobra.Command {
	req := &droverv1.CreateTokenRequest{}
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "join-token", Short: "Make a single-use token with which one more machine or server can join", Args: needArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkRole(req.Role, req.Machine); err != nil {
				return err
			}
			s, err := a.services()
			if err != nil {
				return err
			}
			req.RequestId, req.Model, req.TtlSeconds = a.NewID(), a.flags.model, int64(ttl.Seconds())
			resp, err := s.Server.CreateToken(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return err
			}
			if err := a.write([]byte(resp.Msg.Token + "\n")); err != nil {
				return err
			}
			if req.Role == "server" {
				a.say("Run on the new host before %s:  drover server --join %s --listen HOST:PORT", at(resp.Msg.Expires), "TOKEN")
				return nil
			}
			a.say("Run on the new machine before %s:  drover join %s", at(resp.Msg.Expires), "TOKEN")
			return nil
		},
	}
	cmd.Flags().StringVar(&req.Role, "role", "machine", "what joins: machine or server")
	cmd.Flags().StringVar(&req.Machine, "machine", "", "id of an existing machine that lost its identity")
	cmd.Flags().DurationVar(&ttl, "ttl", time.Hour, "how long the token can be used")
	return cmd
}

func (a *App) joinCmd() *cobra.Command {
	var address string
	var foreground bool
	cmd := &cobra.Command{
		Use: "join TOKEN", Short: "Make this host a machine of a cluster", Args: needArgs("TOKEN"),
		Long: `Make this host a machine of a cluster.

TOKEN is what drover join-token printed. It may also be the name of a file that
holds it, or - for standard input, so that it is not seen by other users.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			token, err := a.readToken(args[0])
			if err != nil {
				return err
			}
			return a.join(cmd, token, address, foreground)
		},
	}
	cmd.Flags().StringVar(&address, "address", "", "where this machine's units are reached (default: the address that reaches the server)")
	cmd.Flags().BoolVar(&foreground, "run", false, "run the agent at once, in the foreground")
	return cmd
}

func (a *App) readToken(arg string) (string, error) {
	const most = 4 << 10
	if arg == "-" {
		b := make([]byte, most)
		n, err := a.In.Read(b)
		if n == 0 && err != nil {
			return "", fault.New(fault.Invalid, "cannot read the token").Why("%s", err).Wrap(err)
		}
		return string(b[:n]), nil
	}
	if _, err := os.Stat(arg); err == nil {
		b, err := readSmallFile(arg, most)
		return string(b), err
	}
	return arg, nil
}

// identityDir is where an agent keeps its identity, below its data folder.
const identityDir = "identity"

func (a *App) join(cmd *cobra.Command, token, address string, foreground bool) error {
	data := filepath.Join(a.dataDir(), "machine")
	dir := filepath.Join(data, identityDir)
	if _, err := os.Stat(filepath.Join(dir, "client.json")); err == nil {
		return fault.New(fault.Conflict, "this host is a machine of a cluster already").
			Why("its identity is in %s", dir).Try("drover agent --data " + data)
	}
	hostname, err := os.Hostname()
	if err != nil {
		return err
	}
	j, err := client.JoinMachine(cmd.Context(), client.JoinConfig{Token: token, Address: address, Hostname: hostname})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.New(fault.Denied, "cannot make %s", dir).Why("%s", reason(err)).Wrap(err)
	}
	if err := j.Save(dir, AgentName); err != nil {
		return err
	}
	a.say("Joined as machine %s.", j.Identity.Machine)
	if address == "" {
		address = reaches(j.Servers)
	}
	if !foreground {
		a.say("Start its agent with:  drover agent --data %s --address %s", data, address)
		return nil
	}
	return a.program(cmd, a.Programs.Agent == nil, func() error {
		return a.Programs.Agent(cmd.Context(), AgentOptions{Data: data, Address: address, Log: a.Err})
	})
}

// AgentName is the base name of an agent's credential files.
const AgentName = "agent"

// reaches is this host's address on the way to the first server.
func reaches(servers []string) string {
	for _, s := range servers {
		conn, err := net.Dial("udp", s) // sends nothing: it only picks the way
		if err != nil {
			continue
		}
		host, _, err := net.SplitHostPort(conn.LocalAddr().String())
		_ = conn.Close() // nothing was sent
		if err == nil {
			return host
		}
	}
	return ""
}
