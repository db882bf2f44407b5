package drover

import "drover/internal/law"

// libraries is the other half of the import law: which package uses which
// library, and why. docs/decisions/0001-libraries.md tells more of each.
var libraries = []law.Edge{
	{From: "keep/store/...", To: "github.com/tidwall/btree", Why: "tables and indexes: copy-on-write B-trees, a snapshot is O(1)"},
	{From: "keep/...", To: "github.com/fxamacker/cbor/v2", Why: "rows as versioned bytes"},
	{From: "keep/store/...", To: "github.com/hashicorp/raft", Why: "consensus"},
	{From: "keep/store/...", To: "github.com/hashicorp/raft-wal/...", Why: "the log on disk"},
	{From: "keep/store/...", To: "github.com/hashicorp/go-hclog", Why: "raft logs through it; bridged to slog"},
	{From: "wire/...", To: "connectrpc.com/connect", Why: "generated clients and handlers, and what wraps them"},
	{From: "wire/...", To: "google.golang.org/protobuf/...", Why: "generated messages"},
	{From: "noun/charm", To: "go.yaml.in/yaml/v3", Why: "charms are written in YAML; a pure parser with bounds"},
	{From: "act/hooktool", To: "go.yaml.in/yaml/v3", Why: "hook tools print YAML, and relation-set reads it"},
	{From: "act/machineagent", To: "connectrpc.com/connect", Why: "its calls over the generated client"},
	{From: "act/machineagent", To: "google.golang.org/protobuf/...", Why: "empty messages"},
	{From: "act/unitagent", To: "google.golang.org/protobuf/...", Why: "a report is sent when it differs from the last"},
	{From: "face/...", To: "connectrpc.com/connect", Why: "handlers and calls of the generated services"},
	{From: "face/...", To: "google.golang.org/protobuf/...", Why: "messages: empty ones, remembered answers, digests of states"},
	{From: "face/cli", To: "github.com/spf13/cobra", Why: "commands, flags and completion for four shells"},
	{From: "face/cli", To: "github.com/spf13/pflag", Why: "the type of --format"},
	{From: "face/cli", To: "go.yaml.in/yaml/v3", Why: "the format yaml, and definitions that people write"},
	{From: "face/cli", To: "golang.org/x/term", Why: "whether a person sits at the other end, and how wide"},
	{From: "face/cli/up", To: "golang.org/x/sync/errgroup", Why: "machines are stopped at once"},
	{From: "face/cli/up", To: "golang.org/x/sys/unix", Why: "file locks, unmounting"},
	{From: "act/provisioner/local/...", To: "golang.org/x/sys/unix", Why: "file locks, the size of the disk"},
	{From: "cmd/drover", To: "golang.org/x/sync/errgroup", Why: "parts that run together and end together"},
	{From: "cmd/drover", To: "connectrpc.com/connect", Why: "the rep's steps over the generated client"},
	{From: "...", To: "github.com/google/renameio/v2", Why: "files written whole or not at all"},
	{From: "act/executor/process", To: "golang.org/x/sys/unix", Why: "pidfds, inotify and epoll: one thread is told of every process's start and end"},
	{From: "internal/proc", To: "golang.org/x/sys/unix", Why: "child subreaper, pidfd, signals to process groups"},
	{From: "...", To: "github.com/google/go-cmp/...", Why: "differences of structures in tests", Tests: true},
	{From: "...", To: "pgregory.net/rapid", Why: "properties, shrunk to the smallest counterexample", Tests: true},
	{From: "...", To: "go.uber.org/goleak", Why: "a test that leaves goroutines fails", Tests: true},
	{From: "...", To: "github.com/rogpeppe/go-internal/testscript", Why: "the command line tested as scripts", Tests: true},
}
