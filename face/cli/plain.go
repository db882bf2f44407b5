package cli

import (
	"bytes"
	"encoding/json"
	"sort"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// plain turns messages, and lists of them, into values that encode with the
// field names of the API, in the order of the fields, numbers as numbers, empty
// lists as []. Everything else stays as it is.
func plain(v any) any {
	switch m := v.(type) {
	case proto.Message:
		return plainMessage(m.ProtoReflect())
	case []proto.Message:
		out := make([]any, len(m))
		for i := range m {
			out[i] = plain(m[i])
		}
		return out
	default:
		return v
	}
}

// messages makes a list of any kind of message one that plain knows.
func messages[M proto.Message](ms []M) []proto.Message {
	out := make([]proto.Message, len(ms))
	for i := range ms {
		out[i] = ms[i]
	}
	return out
}

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(m.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func plainMessage(m protoreflect.Message) object {
	fields := m.Descriptor().Fields()
	o := object{}
	for i := range fields.Len() {
		fd := fields.Get(i)
		if fd.HasPresence() && !m.Has(fd) {
			continue // an absent message, or the other arms of a choice
		}
		o = append(o, member{string(fd.Name()), plainField(fd, m.Get(fd))})
	}
	return o
}

func plainField(fd protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch {
	case fd.IsList():
		l := v.List()
		out := make([]any, l.Len())
		for i := range l.Len() {
			out[i] = plainValue(fd, l.Get(i))
		}
		return out
	case fd.IsMap():
		o := object{}
		for k, e := range v.Map().Range {
			o = append(o, member{k.String(), plainValue(fd.MapValue(), e)})
		}
		sort.Slice(o, func(i, j int) bool { return o[i].name < o[j].name })
		return o
	default:
		return plainValue(fd, v)
	}
}

func plainValue(fd protoreflect.FieldDescriptor, v protoreflect.Value) any {
	if fd.Kind() == protoreflect.MessageKind {
		return plainMessage(v.Message())
	}
	return v.Interface()
}
