package api

import (
	"slices"

	"drover/internal/pki"
	"drover/keep/identity"
	"drover/wire/droverv1/droverv1connect"
)

// own says which entity a method's request must name, for callers who may act
// only for their own. Handlers that need no name (the machine of the caller, its
// cell) take it from the identity.
type own uint8

const (
	anything own = iota // the roles decide alone
	itself              // the handler uses the caller's identity and nothing else
	ownUnit             // request.unit runs on the caller's machine
	ownCharm            // request.sha is the charm of a unit there
)

// grant is a row of the authorization table.
type grant struct {
	open  bool // answers without an identity
	roles []pki.Role
	need  string // the role that a user needs, if users may call it
	own   own
	any   bool // answered by every server, not only by the leader
}

var (
	people   = []pki.Role{pki.RoleUser}
	machines = []pki.Role{pki.RoleMachine}
	servers  = []pki.Role{pki.RoleServer}
	everyone = []pki.Role{pki.RoleUser, pki.RoleMachine, pki.RoleServer}

	viewers   = grant{roles: people, need: identity.Viewer}
	operators = grant{roles: people, need: identity.Operator}
	admins    = grant{roles: people, need: identity.Admin}
)

// may reports whether a caller passes the row; role is that of a user.
func (g grant) may(id pki.Identity, role string) bool {
	return slices.Contains(g.roles, id.Role) && (id.Role != pki.RoleUser || identity.Allows(role, g.need))
}

// grants is the authorization table: who may call what. A method without a row
// is refused to everybody.
var grants = map[string]grant{
	droverv1connect.ModelServiceUploadCharmProcedure:       operators,
	droverv1connect.ModelServiceDeployProcedure:            operators,
	droverv1connect.ModelServiceAddUnitProcedure:           operators,
	droverv1connect.ModelServiceIntegrateProcedure:         operators,
	droverv1connect.ModelServiceRemoveApplicationProcedure: operators,
	droverv1connect.ModelServiceRemoveUnitProcedure:        operators,
	droverv1connect.ModelServiceRemoveRelationProcedure:    operators,
	droverv1connect.ModelServiceRemoveMachineProcedure:     operators,
	droverv1connect.ModelServiceGetConfigProcedure:         viewers,
	droverv1connect.ModelServiceSetConfigProcedure:         operators,
	droverv1connect.ModelServiceResolveProcedure:           operators,
	droverv1connect.ModelServiceStatusProcedure:            viewers,
	droverv1connect.ModelServiceWhyProcedure:               viewers,

	droverv1connect.WorkServiceDesireLRPProcedure:    operators,
	droverv1connect.WorkServiceUpdateLRPProcedure:    operators,
	droverv1connect.WorkServiceRemoveLRPProcedure:    operators,
	droverv1connect.WorkServiceListLRPsProcedure:     viewers,
	droverv1connect.WorkServiceRestartLRPProcedure:   operators,
	droverv1connect.WorkServiceRunTaskProcedure:      operators,
	droverv1connect.WorkServiceListTasksProcedure:    viewers,
	droverv1connect.WorkServiceCancelTaskProcedure:   operators,
	droverv1connect.WorkServiceDeleteTaskProcedure:   operators,
	droverv1connect.WorkServiceListDomainsProcedure:  viewers,
	droverv1connect.WorkServiceUpsertDomainProcedure: operators,
	droverv1connect.WorkServiceListCellsProcedure:    viewers,
	droverv1connect.WorkServiceEvacuateCellProcedure: operators,

	droverv1connect.ServerServiceInfoProcedure:        {roles: everyone, need: identity.Viewer, any: true},
	droverv1connect.ServerServiceCreateTokenProcedure: admins,
	droverv1connect.ServerServiceReadLogProcedure:     viewers,
	droverv1connect.ServerServiceWatchProcedure:       viewers,
	droverv1connect.ServerServiceNamesProcedure:       viewers,
	droverv1connect.ServerServicePowerOffProcedure:    admins,

	droverv1connect.AdminServiceAddUserProcedure:           admins,
	droverv1connect.AdminServiceListUsersProcedure:         admins,
	droverv1connect.AdminServiceRemoveUserProcedure:        admins,
	droverv1connect.AdminServiceRevokeCertificateProcedure: admins,
	droverv1connect.AdminServiceListAuditProcedure:         admins,
	droverv1connect.AdminServiceServerStatusProcedure:      {roles: people, need: identity.Viewer, any: true},
	droverv1connect.AdminServiceSetLogLevelProcedure:       {roles: people, need: identity.Admin, any: true},

	droverv1connect.ServerServiceListServersProcedure:  viewers,
	droverv1connect.ServerServiceRemoveServerProcedure: admins,
	droverv1connect.ServerServiceEnterProcedure:        {roles: servers},
	droverv1connect.ServerServiceFetchBlobProcedure:    {roles: servers, any: true},

	droverv1connect.JoinServiceJoinProcedure:  {open: true},
	droverv1connect.JoinServiceRenewProcedure: {open: true},

	droverv1connect.AgentServiceFeedProcedure:            {roles: machines, own: itself},
	droverv1connect.AgentServiceHeartbeatProcedure:       {roles: machines, own: itself},
	droverv1connect.AgentServiceGoodbyeProcedure:         {roles: machines, own: itself},
	droverv1connect.AgentServiceReportMachineProcedure:   {roles: machines, own: itself},
	droverv1connect.AgentServiceSetMachineDeadProcedure:  {roles: machines, own: itself},
	droverv1connect.AgentServiceSetUnitDeployedProcedure: {roles: machines, own: ownUnit},
	droverv1connect.AgentServiceRemoveUnitProcedure:      {roles: machines, own: ownUnit},
	droverv1connect.AgentServiceNewIncarnationProcedure:  {roles: machines, own: ownUnit},
	droverv1connect.AgentServiceReportUnitProcedure:      {roles: machines, own: ownUnit},
	droverv1connect.AgentServiceSetStatusProcedure:       {roles: machines, own: ownUnit},
	droverv1connect.AgentServiceEnterScopeProcedure:      {roles: machines, own: ownUnit},
	droverv1connect.AgentServiceLeaveScopeProcedure:      {roles: machines, own: ownUnit},
	droverv1connect.AgentServiceDestroyUnitProcedure:     {roles: machines, own: ownUnit},
	droverv1connect.AgentServiceSetUnitDeadProcedure:     {roles: machines, own: ownUnit},
	droverv1connect.AgentServiceCommitHookProcedure:      {roles: machines, own: ownUnit},
	droverv1connect.AgentServiceClearResolvedProcedure:   {roles: machines, own: ownUnit},
	droverv1connect.AgentServiceReadSettingsProcedure:    {roles: machines, own: ownUnit},
	droverv1connect.AgentServiceAckWorkProcedure:         {roles: machines, own: itself},
	droverv1connect.AgentServiceApplyStepsProcedure:      {roles: machines, own: itself},
	droverv1connect.AgentServiceFetchCharmProcedure:      {roles: machines, own: ownCharm},
	droverv1connect.AgentServiceSendLogProcedure:         {roles: machines, own: itself},
}
