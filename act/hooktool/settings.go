package hooktool

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"drover/noun/entity"
	"drover/noun/fault"
)

// MaxSettings bounds the settings that one unit publishes in one relation.
const MaxSettings = 1 << 20

// relation is the one that a call is about: of -r, or the hook's own. An unknown
// one is an error of arguments, as it is in Juju.
func (k *call) relation() (*Relation, *toolError) {
	text, given := k.flags.value["relation"]
	if !given || text == "" {
		if !k.cfg.Hook.Kind.IsRelation() {
			return nil, usage("no relation id specified")
		}
		if r := k.find(k.cfg.Hook.Relation); r != nil {
			return r, nil
		}
		return nil, failed("relation not found")
	}
	number := text
	if _, n, ok := strings.Cut(text, ":"); ok {
		number = n
	}
	id, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return nil, usage("invalid value %q for option -r: invalid relation id", text)
	}
	r := k.find(entity.RelationID(id))
	if r == nil || number != text && r.name() != text {
		return nil, usage("invalid value %q for option -r: relation not found", text)
	}
	return r, nil
}

func (c *Context) find(id entity.RelationID) *Relation {
	for i := range c.cfg.Relations {
		if c.cfg.Relations[i].ID == id {
			return &c.cfg.Relations[i]
		}
	}
	return nil
}

// settings reads one bag: as it was when it was first read, with what this unit
// wrote since over its own.
func (k *call) settings(r *Relation, name string) (map[string]string, *toolError) {
	o := owner{r.ID, name}
	values, ok := k.read[o]
	if !ok {
		var err error
		values, err = k.cfg.Backend.ReadSettings(k.ctx, r.ID, name)
		if fault.Is(err, fault.NotFound) {
			return nil, failed("cannot read settings for %q in relation %q: settings not found", name, r.name())
		}
		if err != nil {
			return nil, failed("cannot read settings for %q in relation %q: %s", name, r.name(), err)
		}
		values = maps.Clone(values)
		if values == nil {
			values = map[string]string{}
		}
		for _, w := range r.Unsent {
			if k.ownerName(w.App) == name {
				apply(values, w)
			}
		}
		k.read[o] = values
	}
	values = maps.Clone(values)
	for key, v := range k.pending[o] { // order-free: each key once
		if v == nil {
			delete(values, key)
		} else {
			values[key] = *v
		}
	}
	return values, nil
}

func apply(values map[string]string, w SettingsWrite) {
	maps.Copy(values, w.Set)
	for _, key := range w.Delete {
		delete(values, key)
	}
}

// ownerName is the name under which the unit, or its application, publishes.
func (c *Context) ownerName(app bool) string {
	if app {
		return string(c.cfg.Unit.App())
	}
	return string(c.cfg.Unit)
}

// write changes the unit's own settings, or its application's, in the sandbox.
// An empty value deletes the key.
func (c *Context) write(r *Relation, app bool, values map[string]string) *toolError {
	o := owner{r.ID, c.ownerName(app)}
	size := 0
	for key, v := range c.pending[o] { // order-free: a sum
		if _, again := values[key]; !again && v != nil {
			size += len(key) + len(*v)
		}
	}
	for key, v := range values { // order-free: a sum
		size += len(key) + len(v)
	}
	if size > MaxSettings {
		return failed("cannot write relation settings: they would have %d bytes, at most %d are allowed", size, MaxSettings)
	}
	bag := c.pending[o]
	if bag == nil {
		bag = map[string]*string{}
		c.pending[o] = bag
	}
	for key, v := range values { // order-free: each key once
		if v == "" {
			bag[key] = nil
		} else {
			bag[key] = &v
		}
	}
	return nil
}

func (c *Context) settingsWrites() []SettingsWrite {
	var ws []SettingsWrite
	for o, bag := range c.pending { // order-free: sorted below
		w := SettingsWrite{Relation: o.relation, App: o.name != string(c.cfg.Unit)}
		for key, v := range bag { // order-free: sorted below, or a map
			if v == nil {
				w.Delete = append(w.Delete, key)
				continue
			}
			if w.Set == nil {
				w.Set = map[string]string{}
			}
			w.Set[key] = *v
		}
		slices.Sort(w.Delete)
		ws = append(ws, w)
	}
	slices.SortFunc(ws, func(a, b SettingsWrite) int {
		if n := cmp.Compare(a.Relation, b.Relation); n != 0 {
			return n
		}
		if a.App != b.App && a.App {
			return 1
		}
		return -1
	})
	return ws
}
