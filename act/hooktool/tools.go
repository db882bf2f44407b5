package hooktool

import (
	"strconv"
	"strings"

	"drover/noun/charm"
	"drover/noun/entity"
)

const maxMessage = 64 << 10

// tools are all hook tools by name.
var tools map[string]tool

func init() {
	tools = map[string]tool{
		"juju-log": {usage: "<message>", purpose: "Write a message to the unit's log.",
			bools: map[string]string{"debug": "log at DEBUG"}, strings: map[string]string{"log-level": "log at this level"}, run: jujuLog},
		"juju-fail": {usage: "<message>", purpose: "Say why this hook fails. The hook counts as failed however it exits.", run: jujuFail},
		"status-set": {usage: "<maintenance | blocked | waiting | active> [message]", purpose: "Set the status of the unit's workload.",
			bools: map[string]string{"application": "set the application's status instead"}, run: statusSet},
		"status-get": {purpose: "Print the status of the unit's workload.", formats: true,
			bools: map[string]string{"include-data": "print message and data too", "application": "of the application instead"}, run: statusGet},
		"unit-get":                {usage: "<private-address | public-address>", purpose: "Print an address of the unit.", formats: true, run: unitGet},
		"config-get":              {usage: "[key]", purpose: "Print the application's configuration.", formats: true, bools: map[string]string{"all": "print all keys"}, run: configGet},
		"is-leader":               {purpose: "Print whether the unit leads its application.", formats: true, run: isLeader},
		"application-version-set": {usage: "<version>", purpose: "Say which version of the software the unit runs.", run: versionSet},
		"network-get": {usage: "<binding>", purpose: "Print the addresses of an endpoint.", formats: true, strings: map[string]string{"relation": "of a relation"},
			bools: map[string]string{"bind-address": "print the address to listen on", "ingress-address": "print the address to publish",
				"egress-subnets": "print where traffic comes from", "primary-address": "an old name of --bind-address"}, run: networkGet},
		"open-port": {usage: "<port>[/<protocol>] | <from>-<to>[/<protocol>] | icmp", purpose: "Mark ports to be opened when the application is exposed.",
			strings: map[string]string{"endpoints": "for these endpoints"}, run: openPort},
		"close-port": {usage: "<port>[/<protocol>] | <from>-<to>[/<protocol>] | icmp", purpose: "Undo open-port.",
			strings: map[string]string{"endpoints": "for these endpoints"}, run: closePort},
		"opened-ports": {purpose: "Print the ports that are open.", formats: true, bools: map[string]string{"endpoints": "by endpoint"}, run: openedPorts},
		"relation-ids": {usage: "[endpoint]", purpose: "Print the ids of the relations of an endpoint.", formats: true, run: relationIDs},
		"relation-list": {purpose: "Print the units of a relation.", formats: true, strings: map[string]string{"relation": "a relation id"},
			bools: map[string]string{"app": "print the remote application instead"}, run: relationList},
		"relation-get": {usage: "[<key> | -] [<unit> | <application>]", purpose: "Print settings of a unit in a relation.", formats: true,
			strings: map[string]string{"relation": "a relation id"}, bools: map[string]string{"app": "of the application"}, run: relationGet},
		"relation-set": {usage: "key=value [key=value ...]", purpose: "Write the unit's settings in a relation.",
			strings: map[string]string{"relation": "a relation id", "file": "a YAML file of settings, - for the standard input", "format": "of the file: yaml"},
			bools:   map[string]string{"app": "of the application"}, run: relationSet},
	}
}

func jujuLog(k *call) (any, *toolError) {
	if len(k.flags.args) == 0 {
		return nil, usage("no message specified")
	}
	level := Info
	if text := k.flags.value["log-level"]; text != "" {
		switch l := Level(strings.ToUpper(text)); l {
		case Trace, Debug, Info, Warning, Error, Critical:
			level = l
		}
	}
	if k.flags.is["debug"] {
		level = Debug
	}
	message := strings.Join(k.flags.args, " ")
	if k.cfg.Hook.Kind.IsRelation() {
		message = k.cfg.Hook.RelationName() + ": " + message
	}
	k.cfg.Backend.Log(level, cut(message))
	return nil, nil
}

func cut(text string) string {
	if len(text) > maxMessage {
		return text[:maxMessage] + "…"
	}
	return text
}

func jujuFail(k *call) (any, *toolError) {
	k.failed, k.failText = true, cut(strings.Join(k.flags.args, " "))
	return nil, nil
}

func unitGet(k *call) (any, *toolError) {
	if len(k.flags.args) == 0 {
		return nil, usage("no setting specified")
	}
	switch key := k.flags.args[0]; key {
	case "private-address", "public-address":
		return k.cfg.Address, nil
	default:
		return nil, usage("unknown setting %q", key)
	}
}

func configGet(k *call) (any, *toolError) {
	if len(k.flags.args) == 0 {
		all := map[string]any{}
		for _, o := range k.cfg.Options {
			all[o.Name] = typed(o)
		}
		return all, nil
	}
	key := k.flags.args[0]
	if k.flags.is["all"] {
		return nil, usage("cannot use argument --all together with key %q", key)
	}
	for _, o := range k.cfg.Options {
		if o.Name == key {
			return typed(o), nil
		}
	}
	return nil, nil
}

func typed(o Option) any {
	switch o.Type {
	case charm.TypeInt:
		if i, err := strconv.ParseInt(o.Value, 10, 64); err == nil {
			return i
		}
	case charm.TypeFloat:
		if f, err := strconv.ParseFloat(o.Value, 64); err == nil {
			return f
		}
	case charm.TypeBoolean:
		if b, err := strconv.ParseBool(o.Value); err == nil {
			return b
		}
	}
	return o.Value
}

func isLeader(k *call) (any, *toolError) { return k.cfg.Leader, nil }

func versionSet(k *call) (any, *toolError) {
	if len(k.flags.args) == 0 {
		return nil, usage("no version specified")
	}
	k.writes.Version = cut(k.flags.args[0])
	return nil, nil
}

var settable = []entity.StatusValue{entity.StatusMaintenance, entity.StatusBlocked, entity.StatusWaiting, entity.StatusActive}

func statusSet(k *call) (any, *toolError) {
	args := k.flags.args
	if len(args) == 0 {
		return nil, usage("invalid args, require <status> [message]")
	}
	if len(args) > 2 {
		return nil, usage("unrecognized args: %q", args[2:])
	}
	status, message := entity.StatusValue(args[0]), ""
	if len(args) == 2 {
		message = cut(args[1])
	}
	known := false
	for _, s := range settable {
		known = known || s == status
	}
	if !known {
		return nil, usage("invalid status %q, expected one of %v", args[0], settable)
	}
	if k.flags.is["application"] {
		if !k.cfg.Leader {
			return nil, failed("this unit is not the leader")
		}
		return nil, failed("setting the application's status is not implemented")
	}
	if err := k.cfg.Backend.SetStatus(k.ctx, status, message); err != nil {
		return nil, failed("cannot set status: %s", err)
	}
	k.cfg.Status = entity.Status{Value: status, Message: message}
	return nil, nil
}

func statusGet(k *call) (any, *toolError) {
	status := k.cfg.Status
	if k.flags.is["application"] {
		if !k.cfg.Leader {
			return nil, failed("this unit is not the leader")
		}
		status = k.cfg.AppStatus
	}
	if status.Value == "" {
		status.Value = entity.StatusUnknown
	}
	data, plain := k.flags.is["include-data"], k.flags.value["format"]
	if !data && (plain == "" || plain == "smart") {
		return string(status.Value), nil
	}
	details := map[string]any{"status": string(status.Value)}
	if data {
		details["message"] = status.Message
		details["status-data"] = map[string]any{}
	}
	if k.flags.is["application"] {
		return map[string]any{"application-status": details}, nil
	}
	return details, nil
}
