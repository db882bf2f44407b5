package board

import (
	"strings"
	"testing"

	"drover/decide/convergence"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/work"
)

func (w *world) beginResolving(of work.Incarnation) (began bool) {
	w.t.Helper()
	w.must(func(tx *store.Txn) (err error) {
		began, err = w.b.BeginResolving(tx, w.now, "job", of)
		return err
	})
	return began
}

// Rule: D-169 D-179
func TestOneResolverAtATime(t *testing.T) {
	w := newWorld(t)
	w.must(func(tx *store.Txn) error {
		j := task()
		j.Callback = "https://user:secret@example.com:8443/done?x=1"
		_, err := w.b.DesireTask(tx, w.now, j)
		return err
	})
	job := w.task()
	if w.beginResolving(job.Incarnation) {
		t.Error("a PENDING task is RESOLVING")
	}
	w.must(func(tx *store.Txn) error { return w.b.CancelTask(tx, w.now, "job") })
	if w.beginResolving("another") {
		t.Error("another incarnation is RESOLVING")
	}
	if !w.beginResolving(job.Incarnation) || w.task().State != work.TaskResolving {
		t.Errorf("it is %s", w.task().State)
	}
	if w.beginResolving(job.Incarnation) {
		t.Error("two resolve it")
	}
	first := w.task().Updated

	w.now = w.now.Add(convergence.ResolvingTooLong)
	w.convergeTask(convergence.Unresolve)
	if w.beginResolving(job.Incarnation) {
		t.Error("it was handed to resolution again at once")
	}
	w.now = w.now.Add(convergence.StaleCompleted)
	if !w.beginResolving(job.Incarnation) {
		t.Error("it was not handed to resolution again")
	}
	w.must(func(tx *store.Txn) error { w.b.EndResolving(tx, "job", job.Incarnation, first); return nil })
	if w.task().GUID == "" {
		t.Error("the end of an earlier resolution deleted it")
	}
	w.must(func(tx *store.Txn) error { w.b.EndResolving(tx, "job", job.Incarnation, w.now); return nil })
	if w.task().GUID != "" {
		t.Error("it is still there")
	}
}

func TestCallbacksThatCannotBeCalled(t *testing.T) {
	w := newWorld(t)
	for _, callback := range []string{
		"done", "/done", "file:///etc/passwd", "unix:///run/x", "http://", "http://:80/x", "http://a b/", "ftp://h/x",
		"http://h/" + strings.Repeat("x", MaxCallback),
	} {
		w.refused(fault.Invalid, func(tx *store.Txn) error {
			j := task()
			j.Callback = callback
			_, err := w.b.DesireTask(tx, w.now, j)
			return err
		})
	}
}
