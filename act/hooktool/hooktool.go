// Package hooktool serves the hook tools to one running hook: config-get,
// relation-set and their like.
//
// It gives the hook a sandbox: what is read is one value for the hook's whole
// life, what is written is kept until the hook has exited 0 and is somebody
// else's to commit. It runs no hooks and keeps nothing on disk.
//
// Invariants: a Context answers only calls with its own id, one at a time, and
// none after Close; writes of a hook never show outside its Context (H5, H8).
//
// Spec: 003 "Hook tools".
package hooktool

import (
	"context"
	"slices"
	"sync"

	"drover/act/hooktool/client"
	"drover/noun/charm"
	"drover/noun/entity"
)

// Backend is what tools reach at once, outside the sandbox. ReadSettings waits
// for an absent server as long as is reasonable; its errors are faults, NotFound
// when nobody of that name ever was in the relation. Methods are called one at a
// time.
type Backend interface {
	ReadSettings(ctx context.Context, relation entity.RelationID, owner string) (map[string]string, error)
	SetStatus(ctx context.Context, status entity.StatusValue, message string) error
	Log(level Level, message string)
}

// Level is a level of juju-log.
type Level string

// The levels.
const (
	Trace    Level = "TRACE"
	Debug    Level = "DEBUG"
	Info     Level = "INFO"
	Warning  Level = "WARNING"
	Error    Level = "ERROR"
	Critical Level = "CRITICAL"
)

// Config is what a hook sees of the world, as it was when the hook began.
type Config struct {
	ID        string // JUJU_CONTEXT_ID
	Unit      entity.UnitName
	Hook      charm.Hook
	Leader    bool
	Address   string
	Options   []Option   // effective values
	Endpoints []string   // of the charm
	Relations []Relation // the hook's own always among them
	Ports     []entity.Port
	Status    entity.Status
	AppStatus entity.Status
	Backend   Backend
}

// Option is the effective value of a config option.
type Option struct {
	Name  string
	Type  charm.OptionType
	Value string
}

// Relation is a relation that the unit is in, with the units it has seen join.
type Relation struct {
	ID        entity.RelationID
	Endpoint  string
	RemoteApp entity.AppName
	Members   []entity.UnitName // sorted
	Unsent    []SettingsWrite   // of earlier hooks, not yet committed
}

func (r *Relation) name() string { return r.Endpoint + ":" + r.ID.String() }

// SettingsWrite is a change of the unit's settings, or its application's, in a
// relation.
type SettingsWrite struct {
	Relation entity.RelationID `json:"relation"`
	App      bool              `json:"app,omitempty"`
	Set      map[string]string `json:"set,omitempty"`
	Delete   []string          `json:"delete,omitempty"` // sorted
}

// Writes is what a hook asks for, to be committed when it has exited 0.
type Writes struct {
	Settings []SettingsWrite `json:"settings,omitempty"`
	Open     []entity.Port   `json:"open,omitempty"`
	Close    []entity.Port   `json:"close,omitempty"`
	Version  string          `json:"version,omitempty"`
}

// IsEmpty reports whether there is nothing to commit.
func (w *Writes) IsEmpty() bool {
	return len(w.Settings) == 0 && len(w.Open) == 0 && len(w.Close) == 0 && w.Version == ""
}

// Context answers the tools of one hook. Its methods may be called concurrently.
type Context struct {
	cfg Config

	mu       sync.Mutex // guards all below; held during a call, which makes tools take turns
	closed   bool
	writes   Writes
	pending  map[owner]map[string]*string // settings written; nil: deleted
	read     map[owner]map[string]string  // settings read
	failText string
	failed   bool
}

// owner names one bag of settings.
type owner struct {
	relation entity.RelationID
	name     string
}

// New makes the context of a hook that is about to run.
func New(cfg Config) *Context {
	return &Context{
		cfg:     cfg,
		pending: map[owner]map[string]*string{},
		read:    map[owner]map[string]string{},
	}
}

// Close ends the context: calls that come later are refused.
func (c *Context) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// Writes is what the hook wrote, in a stable order. It is meant for after Close.
func (c *Context) Writes() Writes {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.writes
	w.Open, w.Close = slices.Clone(w.Open), slices.Clone(w.Close)
	w.Settings = c.settingsWrites()
	return w
}

// FailText is what juju-fail said, and whether it was called.
func (c *Context) FailText() (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failText, c.failed
}

// Call runs one tool.
func (c *Context) Call(ctx context.Context, req *client.Request) *client.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || req.Context != c.cfg.ID {
		return refuse(1, "bad request: wrong context ID; got %q", req.Context)
	}
	t, ok := tools[req.Tool]
	if !ok {
		return refuse(1, "bad request: unknown command %q", req.Tool)
	}
	flags, err := parse(&t, req.Args)
	if err != nil {
		return refuse(2, "%s", err)
	}
	if flags.help {
		return &client.Response{Stdout: []byte(t.help(req.Tool))}
	}
	k := &call{Context: c, ctx: ctx, flags: flags, req: req}
	value, terr := t.run(k)
	if terr != nil {
		return refuse(terr.code, "%s", terr.text)
	}
	if !t.formats {
		return &client.Response{}
	}
	out, err := format(flags.value["format"], t.format, value)
	if err != nil {
		return refuse(1, "%s", err)
	}
	return &client.Response{Stdout: out, Output: flags.value["output"]}
}

// Names are the tools, sorted: a link for each belongs on the hook's PATH.
func Names() []string { return sortedKeys(tools) }
