package executor

import (
	"fmt"
	"strconv"
	"time"

	"drover/noun/work"
)

// A walk reads an action over what is known of its processes and says what to do
// next. It keeps nothing: the same folder gives the same answer, to this agent
// or its successor.
//
// Each run action and each check is a leaf with a name made of its path
// ("action", "action.0.1"); the leaf's outcome is the memory of the walk.
type walk struct {
	known func(name string) outcome
	now   time.Time

	start []leaf    // to be started now
	stop  []string  // to be asked to go now
	wake  time.Time // a time-out ends then
	said  []message // progress messages, once each by name
}

// leaf is an action that is one process or one check.
type leaf struct {
	name   string
	action *work.Action
}

// outcome is what is known of a leaf.
type outcome struct {
	phase   Phase
	started time.Time
	ended   time.Time
	failure string // of an ended one; "" is success
}

// message is an emit-progress text; name makes it unique in the container.
type message struct{ name, text string }

// verdict is how far an action is.
type verdict struct {
	done    bool
	failure string    // "": went well
	ended   time.Time // when done
	first   time.Time // start of its first leaf; zero: nothing started
	active  bool      // some leaf is starting or running
}

func (w *walk) action(name string, a *work.Action) verdict {
	switch {
	case a.Serial != nil:
		return w.serial(name, a.Serial.Actions)
	case a.Parallel != nil:
		return w.parallel(name, a.Parallel.Actions)
	case a.Codependent != nil:
		return w.codependent(name, a.Codependent.Actions)
	case a.Try != nil:
		v := w.action(name+".0", a.Try)
		v.failure = ""
		return v
	case a.Timeout != nil:
		return w.timeout(name, a.Timeout)
	case a.EmitProgress != nil:
		return w.progress(name, a.EmitProgress)
	}
	return w.leaf(name, a)
}

func (w *walk) leaf(name string, a *work.Action) verdict {
	o := w.known(name)
	switch o.phase {
	case Ended:
		return verdict{done: true, failure: o.failure, ended: o.ended, first: o.started}
	case Starting, Running:
		return verdict{first: o.started, active: true}
	}
	w.start = append(w.start, leaf{name, a})
	return verdict{}
}

func child(name string, i int) string { return name + "." + strconv.Itoa(i) }

func (v *verdict) add(o verdict) {
	if v.first.IsZero() || !o.first.IsZero() && o.first.Before(v.first) {
		v.first = o.first
	}
	if o.ended.After(v.ended) {
		v.ended = o.ended
	}
	v.active = v.active || o.active
}

func (w *walk) serial(name string, as []work.Action) verdict {
	all := verdict{done: true}
	for i := range as {
		v := w.action(child(name, i), &as[i])
		all.add(v)
		if !v.done || v.failure != "" {
			all.done, all.failure = v.done, v.failure
			return all
		}
	}
	return all
}

// parallel waits for all, and fails with the first failure in time.
func (w *walk) parallel(name string, as []work.Action) verdict {
	all := verdict{done: true}
	var failed time.Time
	for i := range as {
		v := w.action(child(name, i), &as[i])
		all.add(v)
		all.done = all.done && v.done
		if v.done && v.failure != "" && (failed.IsZero() || v.ended.Before(failed)) {
			all.failure, failed = v.failure, v.ended
		}
	}
	return all
}

// codependent ends all when one ends, and then fails: none may end before the
// others.
func (w *walk) codependent(name string, as []work.Action) verdict {
	before := len(w.start)
	all := verdict{done: true}
	var first *verdict
	for i := range as {
		v := w.action(child(name, i), &as[i])
		all.add(v)
		all.done = all.done && v.done
		if v.done && (first == nil || v.ended.Before(first.ended)) {
			first = &v
		}
	}
	if first == nil {
		return all
	}
	all.failure = first.failure
	if all.failure == "" {
		all.failure = "one of the codependent actions ended"
	}
	return w.end(name, before, all, len(as))
}

// end stops what runs below name and starts nothing more; done when nothing runs.
func (w *walk) end(name string, before int, v verdict, n int) verdict {
	if n > 0 {
		w.start = w.start[:before]
	}
	v.done = !v.active
	if v.active {
		w.stop = append(w.stop, name)
	}
	return v
}

func (w *walk) timeout(name string, t *work.TimeoutAction) verdict {
	before := len(w.start)
	v := w.action(name+".0", &t.Action)
	if v.first.IsZero() {
		return v
	}
	deadline := v.first.Add(time.Duration(t.MS) * time.Millisecond)
	switch {
	case v.done && v.ended.Before(deadline):
		return v
	case !v.done && w.now.Before(deadline):
		if w.wake.IsZero() || deadline.Before(w.wake) {
			w.wake = deadline
		}
		return v
	}
	v.failure = fmt.Sprintf("exceeded %v", time.Duration(t.MS)*time.Millisecond)
	return w.end(name, before, v, 1)
}

func (w *walk) progress(name string, p *work.ProgressAction) verdict {
	w.say(name+".start", p.Start)
	v := w.action(name+".0", &p.Action)
	switch {
	case !v.done:
	case v.failure == "":
		w.say(name+".end", p.Success)
	case p.Failure != "":
		w.say(name+".end", p.Failure+": "+v.failure)
	}
	return v
}

func (w *walk) say(name, text string) {
	if text != "" {
		w.said = append(w.said, message{name, text})
	}
}

// leaves lists the names of all leaves of an action.
func leaves(name string, a *work.Action) []string {
	list := func(as []work.Action) []string {
		var all []string
		for i := range as {
			all = append(all, leaves(child(name, i), &as[i])...)
		}
		return all
	}
	switch {
	case a.Serial != nil:
		return list(a.Serial.Actions)
	case a.Parallel != nil:
		return list(a.Parallel.Actions)
	case a.Codependent != nil:
		return list(a.Codependent.Actions)
	case a.Try != nil:
		return leaves(name+".0", a.Try)
	case a.Timeout != nil:
		return leaves(name+".0", &a.Timeout.Action)
	case a.EmitProgress != nil:
		return leaves(name+".0", &a.EmitProgress.Action)
	}
	return []string{name}
}
