package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"drover/internal/proc"
	"drover/wire/client"
)

// programs is the folder of the three programs under test.
var programs string

// atOnce is how many tests run at once: they mostly wait.
const atOnce = 6

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		panic(err)
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	if testing.Short() {
		return m.Run()
	}
	if programs = os.Getenv("DROVER_E2E_PROGRAMS"); programs != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "e2e-bin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-buildvcs=false", "-o", dir+"/", "./cmd/...")
	build.Dir, build.Stderr = "..", os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the programs:", err)
		return 1
	}
	programs = dir
	return m.Run()
}

// cluster is one cluster of the test's own.
type cluster struct {
	t      *testing.T
	dir    string // all of it, in a short path: sockets are in it
	data   string
	config string
	listen string
	client *client.Client
}

// folder makes the place of a cluster, and at the test's end takes down what is
// in it.
func folder(t *testing.T) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster of real processes")
	}
	t.Parallel()
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, dir: dir, data: dir + "/data", config: dir + "/conf", listen: freeAddress(t)}
	for _, sub := range []string{"home", "tmp", "trace", "control"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(c.end)
	return c
}

// start is a cluster that is up, detached, with machine 0.
func start(t *testing.T) *cluster {
	t.Helper()
	c := folder(t)
	c.up()
	return c
}

// up runs drover up --detach.
func (c *cluster) up() {
	c.t.Helper()
	c.must("up", "--detach", "--listen", c.listen)
	c.connect()
}

// connect makes the client by which the test looks.
func (c *cluster) connect() {
	c.t.Helper()
	if c.client != nil {
		return
	}
	var err error
	if c.client, err = client.FromDir(c.config); err != nil {
		c.t.Fatal(err)
	}
}

var nextPort atomic.Int32

// freeAddress is an address nobody listens on, below the ports that the system
// gives to others meanwhile.
func freeAddress(t *testing.T) string {
	t.Helper()
	const first, ports = 10000, 20000
	for range ports {
		port := first + (os.Getpid()*61+int(nextPort.Add(1)))%ports
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if ln, err := net.Listen("tcp", addr); err == nil {
			_ = ln.Close()
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}

const commandTime = 60 * time.Second

// command is a drover command of the cluster, not yet started.
func (c *cluster) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "drover"), args...)
	cmd.Dir = c.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir + "/home", "TMPDIR=" + c.dir + "/tmp",
		"DROVER_DATA=" + c.data, "DROVER_CONFIG=" + c.config,
	}
	return cmd
}

// run runs a drover command to its end.
func (c *cluster) run(args ...string) (stdout string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := c.command(ctx, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("drover %s: %w\n%s%s", strings.Join(args, " "), err, out.String(), said.String())
	}
	return out.String(), nil
}

func (c *cluster) must(args ...string) string {
	c.t.Helper()
	out, err := c.run(args...)
	if err != nil {
		c.fatal(err)
	}
	return out
}

// fatal fails the test with the ends of the cluster's logs.
func (c *cluster) fatal(err error) {
	c.t.Helper()
	logs, _ := filepath.Glob(c.data + "/machines/*/agent.log")
	more, _ := filepath.Glob(c.data + "/machines/*/machine.log")
	units, _ := filepath.Glob(c.data + "/machines/*/units/*/log/unit.log")
	for _, name := range append(append(append([]string{c.data + "/server/log", c.data + "/run/up.log"}, logs...), more...), units...) {
		b, _ := os.ReadFile(name)
		const tail = 4 << 10
		c.t.Logf("%s:\n%s", strings.TrimPrefix(name, c.data+"/"), b[max(0, len(b)-tail):])
	}
	c.t.Fatal(err)
}

// eventually tries until the check succeeds, or fails the test.
func (c *cluster) eventually(within time.Duration, what string, check func() error) {
	c.t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			c.fatal(fmt.Errorf("not within %s: %s: %w", within, what, err))
		}
	}
}

// holds fails the test if the check fails before the time is over.
func (c *cluster) holds(during time.Duration, what string, check func() error) {
	c.t.Helper()
	deadline := time.NewTimer(during)
	defer deadline.Stop()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := check(); err != nil {
			c.fatal(fmt.Errorf("not all the time: %s: %w", what, err))
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return
		}
	}
}

// end takes the cluster down and looks for what is left of it.
func (c *cluster) end() {
	if c.client != nil {
		c.client.Close()
	}
	if _, err := c.run("down", "--purge", "--yes"); err != nil {
		c.t.Error(err)
	}
	for _, err := range c.remains() {
		c.t.Error("after down --purge:", err)
	}
	for _, p := range c.processes() {
		if id, err := proc.Of(p.pid); err == nil {
			_ = id.Signal(9) // so that one failure is not the next test's
		}
	}
	if err := os.RemoveAll(c.dir); err != nil {
		c.t.Error(err)
	}
}

// remains lists what is left of the cluster on the host.
func (c *cluster) remains() (errs []error) {
	for _, p := range c.processes() {
		errs = append(errs, fmt.Errorf("process %d: %s", p.pid, p.what))
	}
	for _, dir := range []string{c.data, c.config} {
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("%s is there: %w", dir, err))
		}
	}
	left, err := os.ReadDir(c.dir + "/tmp")
	if err != nil {
		errs = append(errs, err)
	}
	for _, e := range left {
		errs = append(errs, fmt.Errorf("temporary file %s", e.Name()))
	}
	for _, table := range []string{"/proc/self/mountinfo", "/proc/net/unix"} {
		b, err := os.ReadFile(table)
		if err != nil {
			errs = append(errs, err)
		}
		if bytes.Contains(b, []byte(c.dir+"/")) {
			errs = append(errs, fmt.Errorf("%s names %s", table, c.dir))
		}
	}
	if conn, err := net.Dial("tcp", c.listen); err == nil {
		_ = conn.Close()
		errs = append(errs, fmt.Errorf("somebody listens on %s", c.listen))
	}
	return errs
}
