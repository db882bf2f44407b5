package up

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"drover/noun/fault"

	"github.com/google/renameio/v2"
)

// FormatVersion is the version of the data folder's format.
const FormatVersion = 1

// versionFile says what the folder is: "drover-data 1", then "cluster ID".
const versionFile = "VERSION"

type version struct {
	format  int
	cluster string
}

func readVersion(data string) (version, error) {
	var v version
	b, err := os.ReadFile(filepath.Join(data, versionFile))
	if err != nil {
		return v, err
	}
	for line := range strings.Lines(string(b)) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key {
		case "drover-data":
			if v.format, err = strconv.Atoi(value); err != nil {
				return v, fmt.Errorf("%s: %q is not a version", versionFile, value)
			}
		case "cluster":
			v.cluster = value
		}
	}
	if v.format == 0 {
		return v, fmt.Errorf("%s does not say a version", versionFile)
	}
	return v, nil
}

// CheckVersion refuses a folder of a newer format, and one that is not empty and
// not Drover's.
func CheckVersion(data string) error {
	v, err := readVersion(data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkEmpty(data)
	case err != nil:
		return fault.New(fault.Invalid, "cannot tell the version of the data folder %s", data).Why("%s", err).Wrap(err)
	case v.format > FormatVersion:
		return fault.New(fault.Conflict, "the data folder %s is of a newer version of Drover", data).Coded(fault.CodeNewerData).
			Why("its format is %d, this program knows up to %d", v.format, FormatVersion).
			Try("drover version", "drover up --data DIR")
	}
	return nil
}

// ours are what Drover itself puts into a data folder before its version.
var ours = []string{"bin", "run", "server", "machines", settingsFile}

func checkEmpty(data string) error {
	entries, err := os.ReadDir(data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cannotWrite(data, err)
	}
	for _, e := range entries {
		known := strings.HasPrefix(e.Name(), "."+versionFile) // of a killed first start
		for _, name := range ours {
			known = known || e.Name() == name
		}
		if !known {
			return fault.New(fault.Conflict, "%s is not a data folder of Drover", data).Coded(fault.CodeForeignData).
				Why("it is not empty: it has %s", e.Name()).Try("drover up --data DIR")
		}
	}
	return nil
}

func writeVersion(data string) error {
	if _, err := readVersion(data); err == nil {
		return nil
	}
	return renameio.WriteFile(filepath.Join(data, versionFile), fmt.Appendf(nil, "drover-data %d\n", FormatVersion), 0o600, renameio.WithTempDir(data))
}

// SetCluster records which cluster the folder belongs to, once; a folder of
// another cluster is refused.
func SetCluster(data, id string) error {
	v, err := readVersion(data)
	if err == nil && v.cluster == id {
		return nil
	}
	if err == nil && v.cluster != "" {
		return otherCluster(data, v.cluster, id)
	}
	text := fmt.Appendf(nil, "drover-data %d\ncluster %s\n", FormatVersion, id)
	return renameio.WriteFile(filepath.Join(data, versionFile), text, 0o600, renameio.WithTempDir(data))
}

func otherCluster(data, has, want string) error {
	return fault.New(fault.Conflict, "the data folder %s belongs to another cluster", data).Coded(fault.CodeForeignData).
		Why("it is of cluster %s, and this is cluster %s", has, want).
		Try("drover up --data DIR", "drover up --config-dir DIR")
}

// clusterOf is the cluster of the credentials in a folder; empty: it has none.
func clusterOf(config string) (string, error) {
	b, err := os.ReadFile(filepath.Join(config, "client.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var client struct {
		ClusterID string `json:"cluster_id"`
	}
	if err == nil {
		err = json.Unmarshal(b, &client)
	}
	if err != nil {
		return "", fault.New(fault.Invalid, "cannot read the credentials in %s", config).Why("%s", plain(err)).Wrap(err)
	}
	return client.ClusterID, nil
}

// checkCredentials refuses to mix a data folder with the credentials of another
// cluster, which a first start would overwrite.
func checkCredentials(f Folders) error {
	id, err := clusterOf(f.Config)
	if err != nil || id == "" {
		return err
	}
	v, err := readVersion(f.Data)
	if errors.Is(err, fs.ErrNotExist) || err == nil && v.cluster == "" {
		return fault.New(fault.Conflict, "%s has the credentials of another cluster", f.Config).Coded(fault.CodeForeignData).
			Why("the data folder %s is new, and a new cluster would overwrite them", f.Data).
			Try("drover up --config-dir DIR", "rm "+filepath.Join(f.Config, "client.json"))
	}
	if err != nil {
		return err
	}
	if v.cluster != id {
		return otherCluster(f.Data, v.cluster, id)
	}
	return nil
}

// Check refuses folders that up must leave as they are: of a newer version, not
// Drover's, or of two clusters.
func Check(f Folders) error {
	if err := CheckVersion(f.Data); err != nil {
		return err
	}
	return checkCredentials(f)
}

// settingsFile remembers how up was told to listen.
const settingsFile = "up.json"

type settings struct {
	Listen    string `json:"listen"`
	Advertise string `json:"advertise,omitempty"`
}

// complete checks the options and fills in what the last run was told.
func (o *Options) complete() error {
	if err := Check(o.Folders); err != nil {
		return err
	}
	var last settings
	if b, err := os.ReadFile(filepath.Join(o.Data, settingsFile)); err == nil {
		if err := json.Unmarshal(b, &last); err != nil {
			return fault.New(fault.Invalid, "cannot read %s", filepath.Join(o.Data, settingsFile)).Why("%s", err).Wrap(err)
		}
	}
	if o.Listen == "" && o.Advertise == "" {
		o.Listen, o.Advertise = last.Listen, last.Advertise
	}
	if o.Listen == "" {
		o.Listen = o.Default
	}
	if o.Advertise != "" {
		_, port, err := net.SplitHostPort(o.Listen)
		if _, _, aerr := net.SplitHostPort(o.Advertise); aerr != nil && err == nil {
			o.Advertise = net.JoinHostPort(o.Advertise, port)
		}
		o.Listen = o.Advertise
	}
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		return fault.New(fault.Invalid, "%q is not an address to listen on", o.Listen).Why("it must be HOST:PORT")
	}
	return nil
}

func (o *Options) remember() error {
	b, err := json.Marshal(settings{o.Listen, o.Advertise})
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(o.Data, settingsFile), append(b, '\n'), 0o600, renameio.WithTempDir(o.Data))
}

const maxLog = 16 << 20

// openLog opens a log for appending; a large one is kept once as NAME.1.
func openLog(path string) (*os.File, error) {
	if fi, err := os.Stat(path); err == nil && fi.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, cannotWrite(filepath.Dir(path), err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, cannotWrite(filepath.Dir(path), err)
	}
	return f, nil
}

// lastLines are the last n lines of a file.
func lastLines(path string, n int) string {
	f, err := os.Open(path)
	if err != nil {
		return "it left no log"
	}
	defer f.Close()
	const tail = 16 << 10
	if fi, err := f.Stat(); err == nil && fi.Size() > tail {
		if _, err := f.Seek(-tail, io.SeekEnd); err != nil {
			return "its log cannot be read"
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, tail))
	if err != nil {
		return "its log cannot be read"
	}
	lines := bytes.Split(bytes.TrimRight(b, "\n"), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}
