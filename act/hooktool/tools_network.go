package hooktool

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"drover/noun/entity"
)

func openPort(k *call) (any, *toolError) {
	p, err := k.port()
	if err == nil {
		k.writes.Close = without(k.writes.Close, p)
		k.writes.Open = append(without(k.writes.Open, p), p)
	}
	return nil, err
}

func closePort(k *call) (any, *toolError) {
	p, err := k.port()
	if err == nil {
		k.writes.Open = without(k.writes.Open, p)
		k.writes.Close = append(without(k.writes.Close, p), p)
	}
	return nil, err
}

func without(ports []entity.Port, p entity.Port) []entity.Port {
	return slices.DeleteFunc(slices.Clone(ports), func(q entity.Port) bool { return p == q })
}

// port reads "80", "80/tcp", "8000-8080/udp" or "icmp".
func (k *call) port() (entity.Port, *toolError) {
	if len(k.flags.args) == 0 {
		return entity.Port{}, usage("no port or range specified")
	}
	text := strings.ToLower(strings.TrimSpace(k.flags.args[0]))
	if text == "icmp" {
		return entity.Port{Protocol: "icmp"}, nil
	}
	numbers, protocol, ok := strings.Cut(text, "/")
	if !ok {
		protocol = "tcp"
	}
	if protocol != "tcp" && protocol != "udp" {
		return entity.Port{}, usage("invalid protocol %q, expected \"tcp\", \"udp\", or \"icmp\"", protocol)
	}
	first, last, ranged := strings.Cut(numbers, "-")
	if !ranged {
		last = first
	}
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	switch {
	case err1 != nil || err2 != nil:
		return entity.Port{}, usage("expected <port>[/<protocol>] or <from>-<to>[/<protocol>] or icmp; got %q", k.flags.args[0])
	case from < 1 || to > 65535 || from > to:
		return entity.Port{}, usage("invalid port range %s", text)
	}
	return entity.Port{From: from, To: to, Protocol: protocol}, nil
}

func openedPorts(k *call) (any, *toolError) {
	list := []string{}
	for _, p := range k.cfg.Ports {
		switch {
		case p.Protocol == "icmp":
			list = append(list, "icmp")
		case p.From == p.To:
			list = append(list, strconv.Itoa(p.From)+"/"+p.Protocol)
		default:
			list = append(list, strconv.Itoa(p.From)+"-"+strconv.Itoa(p.To)+"/"+p.Protocol)
		}
	}
	slices.Sort(list)
	return list, nil
}

func networkGet(k *call) (any, *toolError) {
	if len(k.flags.args) == 0 {
		return nil, usage("no arguments specified")
	}
	if k.flags.value["relation"] != "" {
		if _, err := k.relation(); err != nil {
			return nil, err
		}
	}
	binding := k.flags.args[0]
	if binding != entity.JujuInfo && !slices.Contains(k.cfg.Endpoints, binding) {
		return nil, failed("no network config found for binding %q", binding)
	}
	address := k.cfg.Address
	subnets := []string{}
	if ip, err := netip.ParseAddr(address); err == nil {
		subnets = append(subnets, netip.PrefixFrom(ip, ip.BitLen()).String())
	}
	switch {
	case k.flags.is["bind-address"], k.flags.is["primary-address"], k.flags.is["ingress-address"]:
		return address, nil
	case k.flags.is["egress-subnets"]:
		return strings.Join(subnets, ","), nil
	}
	cidr := ""
	if len(subnets) > 0 {
		cidr = subnets[0]
	}
	return map[string]any{
		"bind-addresses": []any{map[string]any{
			"mac-address": "", "interface-name": "",
			"addresses": []any{map[string]any{"hostname": "", "value": address, "cidr": cidr, "address": address}},
		}},
		"egress-subnets":    subnets,
		"ingress-addresses": []string{address},
	}, nil
}
