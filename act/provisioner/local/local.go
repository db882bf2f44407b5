// Package local is the provider of machines on the host itself: each is a
// supervisor process with its own folder and address, detached from the server
// that started it.
//
// It needs no privilege and isolates little: machines share the host's files and
// users. It decides nothing about machines; what runs on one is its agent's.
//
// Invariants: a machine's folder names the machine's uid and the epoch of the
// leader that asked; no two machines of a host share an address; a join token is
// only ever in a file of mode 0600.
package local

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"drover/act/provisioner"
	"drover/act/provisioner/local/machine"
	"drover/internal/proc"
	"drover/noun/entity"
	"drover/noun/fault"

	"github.com/google/renameio/v2"
)

// Config is what a Provider needs.
type Config struct {
	Dir     string // machines' folders are in it
	Program string // the installed drover
	Args    []string
	Env     []string        // of the machines; nil: this process's
	Cluster string          // its id: decides the network of the addresses
	Model   entity.ModelUID // machines of this model have folders named by their id alone
	Host    Capacity        // of the host; zero: found out
}

// Provider implements provisioner.Provider.
type Provider struct {
	cfg Config

	mu sync.Mutex // guards the folders: one call at a time
}

var _ provisioner.Provider = (*Provider)(nil)

// The files of a machine's folder that this package writes, and one beside the
// folders.
const (
	instanceFile = "instance.json"
	tokenFile    = "join-token"
	epochFile    = "epoch"
)

// instance is what is kept of a machine's instance.
type instance struct {
	Model   entity.ModelUID  `json:"model"`
	Machine entity.MachineID `json:"machine"`
	UID     entity.UID       `json:"uid"`
	Epoch   uint64           `json:"epoch"`
	Address string           `json:"address"`
}

// New makes a provider; the folder is made if it is not there.
func New(cfg Config) (*Provider, error) {
	if cfg.Host == (Capacity{}) {
		host, err := HostCapacity(filepath.Dir(cfg.Dir))
		if err != nil {
			return nil, err
		}
		cfg.Host = host
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	return &Provider{cfg: cfg}, nil
}

// Start implements provisioner.Provider.
func (p *Provider) Start(ctx context.Context, req provisioner.StartRequest) (provisioner.Instance, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	none := provisioner.Instance{}
	if err := p.admit(req.Epoch); err != nil {
		return none, err
	}
	all, err := p.list()
	if err != nil {
		return none, err
	}
	var name string
	for _, i := range all {
		if i.MachineUID == req.MachineUID {
			if i.Running {
				return i, nil
			}
			name = i.ID
		}
	}
	if name == "" {
		if name, err = p.create(all, req); err != nil {
			return none, err
		}
	}
	if err := p.writeToken(name, req.JoinToken); err != nil {
		return none, err
	}
	if err := p.boot(ctx, name, len(all)+1); err != nil {
		return none, err
	}
	return p.look(name)
}

// create makes the folder of a new instance.
func (p *Provider) create(all []provisioner.Instance, req provisioner.StartRequest) (string, error) {
	name := p.folderName(req.Model, req.Machine)
	dir := filepath.Join(p.cfg.Dir, name)
	if _, err := os.Stat(filepath.Join(dir, instanceFile)); err == nil {
		return "", fault.New(fault.Conflict, "the folder of machine %s is taken", req.Machine).
			Why("%s belongs to another machine of that number", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	used := map[string]bool{}
	for _, i := range all {
		used[i.Address] = true
	}
	i := instance{
		Model: req.Model, Machine: req.Machine, UID: req.MachineUID, Epoch: req.Epoch,
		Address: freeAddress(p.cfg.Cluster, machineNumber(req.Machine), used),
	}
	b, err := json.Marshal(i)
	if err != nil {
		return "", err
	}
	return name, renameio.WriteFile(filepath.Join(dir, instanceFile), append(b, '\n'), 0o600, renameio.WithTempDir(dir))
}

// folderName is the machine's id, with its model unless that is the usual one.
func (p *Provider) folderName(model entity.ModelUID, id entity.MachineID) string {
	name := strings.ReplaceAll(string(id), "/", "-")
	if model == p.cfg.Model {
		return name
	}
	const short = 6
	m := string(model)
	return name + "-" + m[:min(len(m), short)]
}

func machineNumber(id entity.MachineID) int {
	first, _, _ := strings.Cut(string(id), "/")
	n, err := strconv.Atoi(first)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// writeToken leaves the token for the agent, unless it has joined before.
func (p *Provider) writeToken(name, token string) error {
	dir := filepath.Join(p.cfg.Dir, name)
	if _, err := os.Stat(filepath.Join(dir, "identity", "client.json")); err == nil || token == "" {
		return nil
	}
	return renameio.WriteFile(filepath.Join(dir, tokenFile), []byte(token+"\n"), 0o600, renameio.WithTempDir(dir))
}

const bootTimeout = 20 * time.Second

// boot starts the supervisor. The program detaches itself and returns when the
// machine is on.
func (p *Provider) boot(ctx context.Context, name string, machines int) error {
	dir := filepath.Join(p.cfg.Dir, name)
	i, err := readInstance(dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	share := p.cfg.Host.share(machines)
	args := append(slices.Clone(p.cfg.Args), "machine", "--detach", "--data", dir, "--address", i.Address,
		"--cpus", strconv.Itoa(share.CPUs), "--memory", strconv.FormatInt(share.MemoryMB, 10), "--disk", strconv.FormatInt(share.DiskMB, 10))
	cmd := exec.CommandContext(ctx, p.cfg.Program, args...)
	env := p.cfg.Env
	if env == nil {
		env = os.Environ()
	}
	cmd.Env, cmd.Dir = append(slices.Clone(env), proc.BootMark+"="+dir), dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fault.New(fault.Unavailable, "cannot start the local machine %s", name).
			Why("%s", lastLine(out.String(), err)).Try("less " + filepath.Join(dir, machine.LogFile)).Wrap(err)
	}
	return nil
}

func lastLine(out string, err error) string {
	out = strings.TrimSpace(out)
	if out == "" {
		return err.Error()
	}
	return out[strings.LastIndexByte(out, '\n')+1:]
}

// stopGrace is how long the supervisor may take for a power-off.
const stopGrace = 10 * time.Second

// Stop implements provisioner.Provider.
func (p *Provider) Stop(ctx context.Context, name string, epoch uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.admit(epoch); err != nil {
		return err
	}
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return fault.New(fault.Invalid, "%q is not a local machine's instance", name)
	}
	dir := filepath.Join(p.cfg.Dir, name)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if id, ok := running(dir); ok {
		if err := proc.End(ctx, id, stopGrace); err != nil {
			return err
		}
	}
	strays, err := proc.Strays(dir)
	if err != nil {
		return err
	}
	if err := proc.KillTree(ctx, strays...); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// List implements provisioner.Provider.
func (p *Provider) List(context.Context) ([]provisioner.Instance, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list()
}

func (p *Provider) list() ([]provisioner.Instance, error) {
	files, err := filepath.Glob(filepath.Join(p.cfg.Dir, "*", instanceFile))
	if err != nil {
		return nil, err
	}
	var is []provisioner.Instance
	for _, file := range files {
		i, err := p.look(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		is = append(is, i)
	}
	slices.SortFunc(is, func(a, b provisioner.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return is, nil
}

func (p *Provider) look(name string) (provisioner.Instance, error) {
	dir := filepath.Join(p.cfg.Dir, name)
	i, err := readInstance(dir)
	if err != nil {
		return provisioner.Instance{}, err
	}
	_, on := running(dir)
	return provisioner.Instance{
		ID: name, Model: i.Model, Machine: i.Machine, MachineUID: i.UID, Epoch: i.Epoch, Address: i.Address, Running: on,
	}, nil
}

func readInstance(dir string) (instance, error) {
	var i instance
	b, err := os.ReadFile(filepath.Join(dir, instanceFile))
	if err != nil {
		return i, err
	}
	if err := json.Unmarshal(b, &i); err != nil {
		return i, fmt.Errorf("%s: %w", filepath.Join(dir, instanceFile), err)
	}
	return i, nil
}

// running is the supervisor of the machine in the folder, if it is alive.
func running(dir string) (proc.ID, bool) {
	r, err := proc.ReadRecord(filepath.Join(dir, machine.RecordFile))
	return r.ID, err == nil && r.ID.Alive()
}

// admit refuses an epoch lower than the highest seen, which outlives the server.
func (p *Provider) admit(epoch uint64) error {
	file := filepath.Join(p.cfg.Dir, epochFile)
	var seen uint64
	b, err := os.ReadFile(file)
	if err == nil {
		if seen, err = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch {
	case epoch < seen:
		return fault.New(fault.Conflict, "epoch %d is over", epoch).Why("local machines have seen epoch %d", seen)
	case epoch > seen:
		return renameio.WriteFile(file, fmt.Appendln(nil, epoch), 0o600, renameio.WithTempDir(p.cfg.Dir))
	}
	return nil
}
