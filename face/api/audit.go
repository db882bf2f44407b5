package api

import (
	"context"
	"path"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"drover/internal/pki"
	"drover/keep/identity"
	"drover/keep/store"
)

// audited are the fields of requests that name things. All others stay out of
// the audit: values may be secrets.
var audited = []protoreflect.Name{
	"model", "application", "name", "a", "b", "unit", "machine", "target", "process_guid", "guid", "task_guid", "cell", "domain",
	"role", "instances", "num_units", "force", "dry_run", "reason",
}

const maxAudited = 300 // bytes of what an entry says of the request

// record writes into the transaction who calls what. Machines and the leader's
// own loops are not audited: they do what people asked for.
func (s *Server) record(ctx context.Context, tx *store.Txn, req connect.AnyRequest) {
	id := callerOf(ctx)
	if id.Role != pki.RoleUser {
		return
	}
	msg, ok := req.Any().(proto.Message)
	if !ok {
		return
	}
	s.cfg.Identity.Record(tx, identity.Audit{At: s.now(), Who: id.String(), Did: path.Base(req.Spec().Procedure), What: whatOf(msg.ProtoReflect())})
}

// whatOf says which things the request names, "application=blog model=default".
func whatOf(m protoreflect.Message) string {
	words := namesIn(m)
	for _, name := range []protoreflect.Name{"lrp", "task"} {
		if f := m.Descriptor().Fields().ByName(name); f != nil && f.Kind() == protoreflect.MessageKind && m.Has(f) {
			words = append(words, namesIn(m.Get(f).Message())...)
		}
	}
	what := strings.Join(words, " ")
	return strings.ToValidUTF8(what[:min(len(what), maxAudited)], "")
}

func namesIn(m protoreflect.Message) (words []string) {
	fields := m.Descriptor().Fields()
	for _, name := range audited {
		f := fields.ByName(name)
		if f == nil || !m.Has(f) || f.IsList() || f.IsMap() {
			continue
		}
		v := m.Get(f)
		switch f.Kind() {
		case protoreflect.StringKind:
			words = append(words, string(name)+"="+plainWord(v.String()))
		case protoreflect.BoolKind, protoreflect.Int32Kind, protoreflect.Int64Kind:
			words = append(words, string(name)+"="+v.String())
		default:
		}
	}
	return words
}

// plainWord quotes what is not plainly one word.
func plainWord(s string) string {
	if q := strconv.Quote(s); strings.ContainsAny(s, " =") || q != `"`+s+`"` {
		return q
	}
	return s
}
