package software

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Page is the program demo-page: a guestbook that writes to all stores of its
// configuration and reads from all that answer. The configuration is read at
// each request, so that it can change at any time.
func Page(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("demo-page", flag.ContinueOnError)
	listen := f.String("listen", "", "host:port")
	config := f.String("config", "", "file with title, unit and stores")
	if err := f.Parse(args); err != nil {
		return err
	}
	c, err := readPageConfig(*config)
	if err != nil {
		return err
	}
	p := &page{config: *config, client: &http.Client{Timeout: 3 * time.Second}, now: time.Now}
	if err := p.open(ctx, c); err != nil {
		fmt.Println("cannot sign yet:", err)
	}
	return serve(ctx, *listen, p.handler())
}

// pageConfig is the file that the charm writes: lines "title TEXT", "unit NAME"
// and "store UNIT HOST PORT PASSWORD".
type pageConfig struct {
	title, unit string
	stores      []storeAddress
}

type storeAddress struct{ unit, host, port, password string }

func readPageConfig(name string) (pageConfig, error) {
	var c pageConfig
	b, err := os.ReadFile(name)
	if err != nil {
		return c, err
	}
	sc := bufio.NewScanner(bytes.NewReader(b))
	for sc.Scan() {
		key, value, _ := strings.Cut(sc.Text(), " ")
		switch key {
		case "title":
			c.title = value
		case "unit":
			c.unit = value
		case "store":
			const words = 4
			w := strings.Fields(value)
			if len(w) != words {
				return c, fmt.Errorf("%s: a store has %d words", name, words)
			}
			c.stores = append(c.stores, storeAddress{w[0], w[1], w[2], w[3]})
		}
	}
	return c, sc.Err()
}

type page struct {
	config string
	client *http.Client
	now    func() time.Time

	mu   sync.Mutex // guards last
	last int64      // of the keys given out
}

func (p *page) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.show)
	mux.HandleFunc("POST /{$}", p.sign)
	mux.HandleFunc("GET /healthz", p.healthz)
	return mux
}

// open signs the guestbook once for each unit that serves it.
func (p *page) open(ctx context.Context, c pageConfig) error {
	entries, _ := p.read(ctx, c)
	for _, e := range entries {
		if e.Name == c.unit {
			return nil
		}
	}
	return p.write(ctx, c, entry{Name: c.unit, Text: "The guestbook is open.", At: p.now().UTC()})
}

// entry is one message of the guestbook.
type entry struct {
	Name string    `json:"name"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

// storeState is what the page knows of a store.
type storeState struct {
	Unit, Address string
	Entries       int
	Problem       string
}

// read collects the entries of all stores that answer.
func (p *page) read(ctx context.Context, c pageConfig) ([]entry, []storeState) {
	byKey := map[string]entry{}
	var states []storeState
	for _, s := range c.stores {
		st := storeState{Unit: s.unit, Address: net.JoinHostPort(s.host, s.port)}
		values, err := p.list(ctx, s)
		if err != nil {
			st.Problem = "does not answer"
		}
		for key, text := range values { // order-free: into a map
			var e entry
			if json.Unmarshal([]byte(text), &e) == nil {
				byKey[key] = e
				st.Entries++
			}
		}
		states = append(states, st)
	}
	keys := make([]string, 0, len(byKey))
	for k := range byKey { // order-free: sorted below
		keys = append(keys, k)
	}
	sort.Strings(keys)
	entries := make([]entry, len(keys))
	for i, k := range keys {
		entries[i] = byKey[k]
	}
	return entries, states
}

const maxList = 16 << 20

func (p *page) list(ctx context.Context, s storeAddress) (map[string]string, error) {
	resp, err := p.call(ctx, http.MethodGet, s, "", nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var values map[string]string
	return values, json.NewDecoder(io.LimitReader(resp.Body, maxList)).Decode(&values)
}

func (p *page) call(ctx context.Context, method string, s storeAddress, key string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+net.JoinHostPort(s.host, s.port)+"/"+key, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.password)
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		_ = resp.Body.Close() // only the code matters
		return nil, fmt.Errorf("%s answers %s", s.unit, resp.Status)
	}
	return resp, nil
}

// write writes an entry to every store; one that takes it is enough.
func (p *page) write(ctx context.Context, c pageConfig, e entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	key := p.key()
	var errs []error
	for _, s := range c.stores {
		resp, err := p.call(ctx, http.MethodPut, s, key, bytes.NewReader(b))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_ = resp.Body.Close() // empty
	}
	if len(errs) == len(c.stores) {
		return errors.Join(append(errs, errors.New("no store took the entry"))...)
	}
	return nil
}

// key is one that sorts by time and is given out once.
func (p *page) key() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = max(p.last+1, p.now().UnixNano())
	return "e" + strconv.FormatInt(p.last, 10)
}

var pageHTML = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{{.Title}}</title>
<h1>{{.Title}}</h1>
<ul>
{{- range .Entries}}
<li><b>{{.Name}}</b>: {{.Text}} <small>{{.At.Format "2006-01-02 15:04:05"}}</small></li>
{{- else}}
<li>Nobody has signed yet.</li>
{{- end}}
</ul>
<form method="post">
<label>Name <input name="name" maxlength="80" required></label>
<label>Message <input name="text" maxlength="1000" required></label>
<button>Sign</button>
</form>
<p>Served by {{.Unit}} from
{{- range .Stores}}
<br>{{.Unit}} at {{.Address}}: {{if .Problem}}{{.Problem}}{{else}}{{.Entries}} entries{{end}}
{{- end}}
</p>
</html>
`))

func (p *page) show(w http.ResponseWriter, r *http.Request) {
	c, err := readPageConfig(p.config)
	if err != nil {
		http.Error(w, "the page is not configured", http.StatusServiceUnavailable)
		return
	}
	entries, stores := p.read(r.Context(), c)
	var b bytes.Buffer
	err = pageHTML.Execute(&b, map[string]any{"Title": c.title, "Unit": c.unit, "Entries": entries, "Stores": stores})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // the asker may be gone
}

const maxForm = 8 << 10

func (p *page) sign(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	name, text := strings.TrimSpace(r.FormValue("name")), strings.TrimSpace(r.FormValue("text"))
	if name == "" || text == "" {
		http.Error(w, "name and text are needed", http.StatusBadRequest)
		return
	}
	c, err := readPageConfig(p.config)
	if err == nil {
		err = p.write(r.Context(), c, entry{Name: name, Text: text, At: p.now().UTC()})
	}
	if err != nil {
		http.Error(w, "cannot keep it: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// healthz answers with the number of entries if any store does.
func (p *page) healthz(w http.ResponseWriter, r *http.Request) {
	c, err := readPageConfig(p.config)
	if err != nil {
		http.Error(w, "the page is not configured", http.StatusServiceUnavailable)
		return
	}
	entries, stores := p.read(r.Context(), c)
	up := 0
	for _, s := range stores {
		if s.Problem == "" {
			up++
		}
	}
	if up == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	fmt.Fprintf(w, "%d entries in %d of %d stores\n", len(entries), up, len(stores))
}
