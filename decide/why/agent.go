package why

import (
	"fmt"
	"strings"
	"time"

	"drover/noun/entity"
	"drover/noun/when"
)

// machineOf is the machine a unit runs on; a subordinate's is its principal's.
func (s Snapshot) machineOf(u entity.Unit) (entity.Machine, bool) {
	if u.IsSubordinate() {
		u, _ = s.World.Unit(u.Principal)
	}
	return s.World.Machine(u.Machine)
}

func (s Snapshot) heard(u entity.Unit) bool {
	m, ok := s.machineOf(u)
	if !ok {
		return false
	}
	_, there := s.Agents.Heard(m.ID)
	return there
}

// agentOf is what the agent that has to act on the unit is doing: always one
// leaf, first what keeps it from acting at all.
func (s Snapshot) agentOf(u entity.Unit, blocks Blocks) []Impediment {
	i := Impediment{Entity: string(u.Name), UID: string(u.UID), Blocks: blocks, Subject: string(u.Name), Since: u.Since, Owner: "agent of " + string(u.Name)}
	m, ok := s.machineOf(u)
	if !ok {
		i.Kind, i.Detail, i.Owner = AgentSilent, "it is assigned to no machine", "operator"
		i.NextSteps = []string{"drover remove-unit " + string(u.Name) + " --force"}
		return []Impediment{i}
	}
	if silent := s.noAgent(m, string(u.Name), string(u.UID), blocks); len(silent) > 0 {
		return silent
	}
	switch {
	case u.Failure != nil:
		return []Impediment{s.hookFailed(u, blocks)}
	case u.Hook != "":
		i.Kind, i.Subject = HookRunning, u.Hook
		i.Detail = fmt.Sprintf("hook %s is running", u.Hook)
		i.NextSteps = []string{"drover logs " + string(u.Name) + " --follow"}
	case u.Life == entity.Dead:
		i.Kind, i.Owner = AgentWorking, deployer(u)
		i.Detail = fmt.Sprintf("it is dead, the %s is about to remove it", i.Owner)
		i.NextSteps = []string{waitRemoved("unit", string(u.Name))}
	case !u.Deployed:
		i.Kind, i.Owner = AgentWorking, deployer(u)
		i.Detail = fmt.Sprintf("the %s is about to deploy it", i.Owner)
		i.NextSteps = []string{"drover logs machine:" + string(m.ID)}
	default:
		i.Kind = AgentWorking
		i.Detail = fmt.Sprintf("its agent on machine %s has the next step to do", m.ID)
		i.NextSteps = []string{"drover logs " + string(u.Name) + " --follow"}
	}
	return []Impediment{i}
}

func deployer(u entity.Unit) string {
	if u.IsSubordinate() {
		return "agent of " + string(u.Principal)
	}
	return "agent of machine " + string(u.Machine)
}

// hookFailed says which hook failed, and every way on.
func (s Snapshot) hookFailed(u entity.Unit, blocks Blocks) Impediment {
	f := u.Failure
	i := Impediment{
		Entity: string(u.Name), UID: string(u.UID), Blocks: blocks, Kind: HookFailed, Subject: f.Hook, Since: f.Since,
		Owner:  "agent of " + string(u.Name),
		Detail: fmt.Sprintf("hook %s failed (%s)%s, %s", f.Hook, f.Reason, s.ago(f.Since), tries(f.Tries)),
		NextSteps: []string{
			"drover resolve " + string(u.Name),
			"drover resolve " + string(u.Name) + " --no-retry",
			"drover logs " + string(u.Name) + " --hook last",
		},
	}
	switch {
	case u.Resolve != entity.ResolveNone:
		i.Detail += ", resolved: its agent is about to go on"
	case f.NextRetry.IsZero():
		i.Detail, i.Owner = i.Detail+", waits for resolve", "operator"
	default:
		i.Detail += s.in(", next retry", f.NextRetry)
	}
	if line := lastLine(f.LastOutput); line != "" {
		i.Detail += fmt.Sprintf("\nlast output: %q", line)
	}
	if blocks == Removal && !u.IsSubordinate() {
		i.NextSteps = append(i.NextSteps, "drover remove-unit "+string(u.Name)+" --force")
	}
	return i
}

// lastLine is the last line with anything in it, shortened.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	line := []rune(strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:]))
	const most = 200
	return string(line[:min(len(line), most)])
}

// noAgent is why the machine's agent does not act: no instance, or silence. None
// while it is there.
func (s Snapshot) noAgent(m entity.Machine, blocked, uid string, blocks Blocks) []Impediment {
	last, there := s.Agents.Heard(m.ID)
	if there {
		return nil
	}
	i := Impediment{Entity: blocked, UID: uid, Blocks: blocks, Subject: string(m.ID), Since: m.Created, Owner: "provisioner"}
	switch {
	case m.InstanceState == entity.InstanceFailed:
		i.Kind = InstanceFailed
		i.Detail = fmt.Sprintf("machine %s could not be started: %s%s", m.ID, m.InstanceError, s.in(", next try", m.NextLaunch))
		i.NextSteps = []string{"drover status", "drover remove-machine " + string(m.ID) + " --force"}
	case m.InstanceState == entity.InstanceVanished:
		i.Kind = InstanceVanished
		i.Detail = fmt.Sprintf("the instance of machine %s is gone and is started again", m.ID)
		i.NextSteps = []string{"drover status", "drover remove-machine " + string(m.ID) + " --force"}
	case m.InstanceState != entity.InstanceRunning || last.IsZero() && m.KeyHash == "":
		i.Kind = InstanceStarting
		i.Detail = fmt.Sprintf("machine %s is being started", m.ID)
		i.NextSteps = []string{"drover status", "drover logs machine:" + string(m.ID)}
	default:
		i.Kind, i.Since, i.Owner = AgentSilent, last, "agent of machine "+string(m.ID)
		i.Detail = fmt.Sprintf("the agent of machine %s is not heard%s", m.ID, s.ago(last))
		i.NextSteps = []string{"drover logs machine:" + string(m.ID), "drover remove-machine " + string(m.ID) + " --force"}
	}
	return []Impediment{i}
}

// ago is " 42s ago", or nothing when either moment is not known.
func (s Snapshot) ago(t when.Instant) string {
	if t.IsZero() || s.Now.Before(t) {
		return ""
	}
	return " " + s.Now.Sub(t).Round(time.Second).String() + " ago"
}

// in is what followed by " in 1m10s", or nothing when either moment is not known.
func (s Snapshot) in(what string, t when.Instant) string {
	switch {
	case t.IsZero() || s.Now.IsZero():
		return ""
	case t.Before(s.Now):
		return what + " now"
	}
	return what + " in " + t.Sub(s.Now).Round(time.Second).String()
}

func tries(n int) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}
