package sim

import (
	"fmt"

	"drover/noun/entity"
)

// unrest lists what may not be when everything is quiet (V1).
func (s *Sim) unrest() []string {
	var out []string
	v := s.server.store.View()
	reg := s.server.registry
	for _, model := range reg.ListModels(v) {
		w := reg.World(v, model.UID)
		for _, m := range w.Machines() {
			if m.Life != entity.Alive {
				out = append(out, fmt.Sprintf("machine %s is %s", m.ID, m.Life))
			}
		}
		for _, a := range w.Applications() {
			if a.Life != entity.Alive {
				out = append(out, fmt.Sprintf("application %s is %s", a.Name, a.Life))
			}
		}
		for _, u := range w.Units() {
			if u.Life != entity.Alive {
				out = append(out, fmt.Sprintf("unit %s is %s", u.Name, u.Life))
			}
		}
		for _, r := range w.Relations() {
			if r.Life != entity.Alive {
				out = append(out, fmt.Sprintf("relation %d is %s", r.ID, r.Life))
			}
		}
	}
	return out
}
