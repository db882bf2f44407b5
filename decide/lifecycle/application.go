package lifecycle

import "drover/noun/entity"

// DestroyApplication is the user's request. Spec: 000 "juju remove-application".
func DestroyApplication(w World, app entity.Application) []Step {
	// "If the application is not alive, abort without error."
	if app.Life != entity.Alive {
		return nil
	}
	var steps []Step
	relations := w.RelationsOf(app.Name)
	removed := 0
	for _, rel := range relations {
		// "If the relation is already Dying, skip it."
		if rel.Life != entity.Alive {
			continue
		}
		// "destroy the relation without modifying the application's relation count.
		// If the relation's destruction implies its removal, increment a local
		// removed-relations counter instead."
		step := destroyRelation(w, rel)
		if step.Verb == RemoveRelationRow {
			removed++
		}
		steps = append(steps, step)
	}
	// "If the application's unit count is greater than 0, or if the value of the
	// aforementioned removal counter is less than the application's relation
	// count … set the application to Dying"
	units := w.UnitCount(app.Name)
	if units > 0 || removed < len(relations) {
		steps = append(steps, onApp(ApplicationDying, app.Name))
		if units > 0 {
			steps = append(steps, onApp(CleanUnits, app.Name))
		}
		return steps
	}
	// "Otherwise, remove the application immediately."
	return append(steps, onApp(RemoveApplicationRow, app.Name))
}

// dropReference is the text's "if the application is Alive, or has at least …
// units, or is in at least … relations, decrement the count; otherwise remove
// the application". The thresholds are what keeps it, counted before the
// reference goes.
func dropReference(w World, name entity.AppName, units, relations int) []Step {
	app, ok := w.Application(name)
	if !ok || app.Life == entity.Alive || w.UnitCount(name) >= units || len(w.RelationsOf(name)) >= relations {
		return nil
	}
	return []Step{onApp(RemoveApplicationRow, name)}
}
