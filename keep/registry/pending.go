package registry

import (
	"drover/keep/store"
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/when"
)

// Bootstrap makes the default model and machine 0 with both jobs, unless they exist.
func (r *Registry) Bootstrap(tx *store.Txn, now when.Instant, provider string) (entity.Model, entity.Machine, error) {
	panic("unwritten")
}

// FindModel is the model with the name; empty is "default". NotFound otherwise.
func (r *Registry) FindModel(rd store.Reader, name string) (entity.Model, error) { panic("unwritten") }

// Model is the model's row.
func (r *Registry) Model(rd store.Reader, m entity.ModelUID) (entity.Model, bool) {
	panic("unwritten")
}

// ListModels are the models in the order of their uids.
func (r *Registry) ListModels(rd store.Reader) []entity.Model { panic("unwritten") }

// AddMachine adds an Alive machine.
func (r *Registry) AddMachine(tx *store.Txn, now when.Instant, m entity.ModelUID, spec MachineSpec) (entity.Machine, error) {
	panic("unwritten")
}

// AddCharm records a charm, giving it the next revision of its name; one that is known is returned as it is.
func (r *Registry) AddCharm(tx *store.Txn, now when.Instant, c charm.Charm) (charm.Charm, error) {
	panic("unwritten")
}

// Charm is the charm with the sha.
func (r *Registry) Charm(rd store.Reader, sha entity.CharmSHA) (charm.Charm, bool) {
	panic("unwritten")
}

// Deploy creates an application with its peer relations, units and machines.
func (r *Registry) Deploy(tx *store.Txn, now when.Instant, m entity.ModelUID, q DeployRequest) (Created, error) {
	panic("unwritten")
}

// AddUnits adds units to an Alive principal application.
func (r *Registry) AddUnits(tx *store.Txn, now when.Instant, m entity.ModelUID, q AddUnitsRequest) (Created, error) {
	panic("unwritten")
}

// Integrate adds a relation between "app" or "app:endpoint" a and b.
func (r *Registry) Integrate(tx *store.Txn, now when.Instant, m entity.ModelUID, a, b string) (entity.Relation, error) {
	panic("unwritten")
}

// FindRelation finds the existing relation that a and b name. NotFound, or Conflict when several fit.
func (r *Registry) FindRelation(rd store.Reader, m entity.ModelUID, a, b string) (entity.Relation, error) {
	panic("unwritten")
}

// RemoveApplication does remove-application.
func (r *Registry) RemoveApplication(tx *store.Txn, now when.Instant, m entity.ModelUID, app entity.AppName, o RemoveOptions) (Removed, error) {
	panic("unwritten")
}

// RemoveUnit does remove-unit.
func (r *Registry) RemoveUnit(tx *store.Txn, now when.Instant, m entity.ModelUID, unit entity.UnitName, o RemoveOptions) (Removed, error) {
	panic("unwritten")
}

// RemoveRelation does remove-relation.
func (r *Registry) RemoveRelation(tx *store.Txn, now when.Instant, m entity.ModelUID, a, b string, o RemoveOptions) (Removed, error) {
	panic("unwritten")
}

// RemoveMachine does remove-machine.
func (r *Registry) RemoveMachine(tx *store.Txn, now when.Instant, m entity.ModelUID, id entity.MachineID, o RemoveOptions) (Removed, error) {
	panic("unwritten")
}

// SetUnitDeployed is the deployer's mark before it starts the unit's agent.
func (r *Registry) SetUnitDeployed(tx *store.Txn, now when.Instant, m entity.ModelUID, u UnitRef) error {
	panic("unwritten")
}

// RemoveDeadUnit is the deployer's removal of a Dead (or non-Alive, never deployed) unit.
func (r *Registry) RemoveDeadUnit(tx *store.Txn, now when.Instant, m entity.ModelUID, u UnitRef) error {
	panic("unwritten")
}

// DestroyUnit is what a unit's own agent, or its principal's, does to make it Dying.
func (r *Registry) DestroyUnit(tx *store.Txn, now when.Instant, m entity.ModelUID, u UnitRef) error {
	panic("unwritten")
}

// SetUnitDead is what a Dying unit's agent does at the end.
func (r *Registry) SetUnitDead(tx *store.Txn, now when.Instant, m entity.ModelUID, u UnitRef) error {
	panic("unwritten")
}

// NewIncarnation serves an agent without a disk.
func (r *Registry) NewIncarnation(tx *store.Txn, now when.Instant, m entity.ModelUID, u UnitRef) (int, error) {
	panic("unwritten")
}

// ReportUnit records what the unit's agent says of itself.
func (r *Registry) ReportUnit(tx *store.Txn, now when.Instant, m entity.ModelUID, u UnitRef, rep UnitReport) error {
	panic("unwritten")
}

// SetStatus records the workload's status.
func (r *Registry) SetStatus(tx *store.Txn, now when.Instant, m entity.ModelUID, u UnitRef, st entity.Status) error {
	panic("unwritten")
}

// EnterScope puts the unit into the relation's scope, settings first.
func (r *Registry) EnterScope(tx *store.Txn, now when.Instant, m entity.ModelUID, u UnitRef, rel entity.RelationID, initial map[string]string) (Entered, error) {
	panic("unwritten")
}

// LeaveScope takes the unit out of the relation's scope.
func (r *Registry) LeaveScope(tx *store.Txn, now when.Instant, m entity.ModelUID, u UnitRef, rel entity.RelationID) error {
	panic("unwritten")
}

// CommitHook applies a hook's writes, once.
func (r *Registry) CommitHook(tx *store.Txn, now when.Instant, m entity.ModelUID, u UnitRef, c HookCommit) (HookCommitted, error) {
	panic("unwritten")
}

// ReadSettings is what owner published in the relation, as the unit may read it.
func (r *Registry) ReadSettings(rd store.Reader, m entity.ModelUID, u UnitRef, rel entity.RelationID, owner string) (entity.Settings, error) {
	panic("unwritten")
}

// Resolve records how a unit's failed hook is to be resolved.
func (r *Registry) Resolve(tx *store.Txn, now when.Instant, m entity.ModelUID, unit entity.UnitName, mode entity.Resolve) error {
	panic("unwritten")
}

// ResolveAll resolves every unit with a failed hook.
func (r *Registry) ResolveAll(tx *store.Txn, now when.Instant, m entity.ModelUID, mode entity.Resolve) ([]entity.UnitName, error) {
	panic("unwritten")
}

// ClearResolved is the agent's word that it has seen the resolve.
func (r *Registry) ClearResolved(tx *store.Txn, now when.Instant, m entity.ModelUID, u UnitRef) error {
	panic("unwritten")
}

// SetConfig sets and resets options of an Alive application.
func (r *Registry) SetConfig(tx *store.Txn, now when.Instant, m entity.ModelUID, app entity.AppName, set map[string]string, reset []string) error {
	panic("unwritten")
}

// Config are all options with their effective values, sorted by name.
func (r *Registry) Config(rd store.Reader, m entity.ModelUID, app entity.AppName) ([]ConfigValue, error) {
	panic("unwritten")
}

// ConfigHash is the hash of the effective values.
func (r *Registry) ConfigHash(values []ConfigValue) string { panic("unwritten") }

// ReportMachine records what the machine's agent found.
func (r *Registry) ReportMachine(tx *store.Txn, now when.Instant, m entity.ModelUID, id entity.MachineID, rep MachineReport) error {
	panic("unwritten")
}

// SetMachineKey records the hash of the public key of the machine's agent.
func (r *Registry) SetMachineKey(tx *store.Txn, m entity.ModelUID, id entity.MachineID, hash string) error {
	panic("unwritten")
}

// SetMachineDead is what a Dying machine's agent does once nothing is on it.
func (r *Registry) SetMachineDead(tx *store.Txn, now when.Instant, m entity.ModelUID, id entity.MachineID) error {
	panic("unwritten")
}

// RemoveDeadMachine deletes a Dead machine.
func (r *Registry) RemoveDeadMachine(tx *store.Txn, now when.Instant, m entity.ModelUID, id entity.MachineID) error {
	panic("unwritten")
}

// Machine is the machine's row.
func (r *Registry) Machine(rd store.Reader, m entity.ModelUID, id entity.MachineID) (entity.Machine, bool) {
	panic("unwritten")
}

// ListMachines are the model's machines by number.
func (r *Registry) ListMachines(rd store.Reader, m entity.ModelUID) []entity.Machine {
	panic("unwritten")
}

// Application is the application's row.
func (r *Registry) Application(rd store.Reader, m entity.ModelUID, app entity.AppName) (entity.Application, bool) {
	panic("unwritten")
}

// ListApplications are the model's applications by name.
func (r *Registry) ListApplications(rd store.Reader, m entity.ModelUID) []entity.Application {
	panic("unwritten")
}

// Unit is the unit's row.
func (r *Registry) Unit(rd store.Reader, m entity.ModelUID, unit entity.UnitName) (entity.Unit, bool) {
	panic("unwritten")
}

// ListUnits are the model's units by application and number.
func (r *Registry) ListUnits(rd store.Reader, m entity.ModelUID) []entity.Unit { panic("unwritten") }

// Relation is the relation's row.
func (r *Registry) Relation(rd store.Reader, m entity.ModelUID, id entity.RelationID) (entity.Relation, bool) {
	panic("unwritten")
}

// ListRelations are the model's relations by id.
func (r *Registry) ListRelations(rd store.Reader, m entity.ModelUID) []entity.Relation {
	panic("unwritten")
}

// ListCleanups are all recorded cleanups in the order of their ids.
func (r *Registry) ListCleanups(rd store.Reader) []entity.Cleanup { panic("unwritten") }

// UnitsOf are the application's units by number.
func (r *Registry) UnitsOf(rd store.Reader, m entity.ModelUID, app entity.AppName) []entity.Unit {
	panic("unwritten")
}

// UnitsOn are the principals assigned to the machine, by name and number.
func (r *Registry) UnitsOn(rd store.Reader, m entity.ModelUID, id entity.MachineID) []entity.Unit {
	panic("unwritten")
}

// AllUnitsOn are the principals assigned to the machine with their subordinates.
func (r *Registry) AllUnitsOn(rd store.Reader, m entity.ModelUID, id entity.MachineID) []entity.Unit {
	panic("unwritten")
}

// Subordinates are the unit's subordinates.
func (r *Registry) Subordinates(rd store.Reader, m entity.ModelUID, principal entity.UnitName) []entity.Unit {
	panic("unwritten")
}

// SubordinateWanted reports whether an Alive container-scoped relation joins the
// subordinate's application and its principal's.
func (r *Registry) SubordinateWanted(rd store.Reader, m entity.ModelUID, u entity.Unit) bool {
	panic("unwritten")
}

// MachineOf is the machine that a unit runs on; a subordinate's is its principal's.
func (r *Registry) MachineOf(rd store.Reader, m entity.ModelUID, u entity.Unit) (entity.Machine, bool) {
	panic("unwritten")
}

// UnitRelations are the relations that concern the unit, by id.
func (r *Registry) UnitRelations(rd store.Reader, m entity.ModelUID, unit entity.UnitName) []UnitRelation {
	panic("unwritten")
}

// SeenMembers are the units that the unit sees in the relation, sorted.
func (r *Registry) SeenMembers(rd store.Reader, m entity.ModelUID, unit entity.UnitName, rel entity.RelationID) []SeenMember {
	panic("unwritten")
}

// Members are the units in scope of the relation, sorted; limit 0 means all.
func (r *Registry) Members(rd store.Reader, m entity.ModelUID, rel entity.RelationID, limit int) []entity.Member {
	panic("unwritten")
}

// UnitCount is the number of the application's units.
func (r *Registry) UnitCount(rd store.Reader, m entity.ModelUID, app entity.AppName) int {
	panic("unwritten")
}

// RelationCount is the number of the application's relations.
func (r *Registry) RelationCount(rd store.Reader, m entity.ModelUID, app entity.AppName) int {
	panic("unwritten")
}

// ScopeCount is the number of units in scope of the relation.
func (r *Registry) ScopeCount(rd store.Reader, m entity.ModelUID, rel entity.RelationID) int {
	panic("unwritten")
}

// UnitRevision, AppRevision, MachineRevision and RelationRevision are the
// revisions of the rows' last changes.
func (r *Registry) UnitRevision(rd store.Reader, m entity.ModelUID, unit entity.UnitName) store.Revision {
	return r.units.RevisionOf(rd, unitKey(m, unit))
}

// AppRevision is the revision of the application's last change.
func (r *Registry) AppRevision(rd store.Reader, m entity.ModelUID, app entity.AppName) store.Revision {
	return r.apps.RevisionOf(rd, appKey(m, app))
}

// MachineRevision is the revision of the machine's last change.
func (r *Registry) MachineRevision(rd store.Reader, m entity.ModelUID, id entity.MachineID) store.Revision {
	return r.machines.RevisionOf(rd, machineKey(m, id))
}

// RelationRevision is the revision of the relation's last change.
func (r *Registry) RelationRevision(rd store.Reader, m entity.ModelUID, id entity.RelationID) store.Revision {
	return r.relations.RevisionOf(rd, relationKey(m, id))
}

// InstanceStarting commits that the provider is about to be called.
func (r *Registry) InstanceStarting(tx *store.Txn, now when.Instant, m entity.ModelUID, id entity.MachineID, uid entity.UID) error {
	panic("unwritten")
}

// InstanceRunning records the provider's instance.
func (r *Registry) InstanceRunning(tx *store.Txn, now when.Instant, m entity.ModelUID, id entity.MachineID, uid entity.UID, instance, address string) error {
	panic("unwritten")
}

// InstanceFailed records a failure of the provider and when to try again.
func (r *Registry) InstanceFailed(tx *store.Txn, now when.Instant, m entity.ModelUID, id entity.MachineID, uid entity.UID, reason string, next when.Instant) error {
	panic("unwritten")
}

// InstanceVanished records that the provider no longer has the instance.
func (r *Registry) InstanceVanished(tx *store.Txn, now when.Instant, m entity.ModelUID, id entity.MachineID, uid entity.UID) error {
	panic("unwritten")
}

// InstanceGone records that the instance was released.
func (r *Registry) InstanceGone(tx *store.Txn, now when.Instant, m entity.ModelUID, id entity.MachineID, uid entity.UID) error {
	panic("unwritten")
}

// CleanStep does one bounded step of a cleanup.
func (r *Registry) CleanStep(tx *store.Txn, now when.Instant, id string) (CleanResult, error) {
	panic("unwritten")
}
