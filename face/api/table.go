package api

import (
	"drover/internal/pki"
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
	own   own
	any   bool // answered by every server, not only by the leader
}

var (
	people   = []pki.Role{pki.RoleUser}
	machines = []pki.Role{pki.RoleMachine}
	everyone = []pki.Role{pki.RoleUser, pki.RoleMachine, pki.RoleServer}
)

// grants is the authorization table: who may call what. A method without a row
// is refused to everybody.
var grants = map[string]grant{
	droverv1connect.ModelServiceUploadCharmProcedure:       {roles: people},
	droverv1connect.ModelServiceDeployProcedure:            {roles: people},
	droverv1connect.ModelServiceAddUnitProcedure:           {roles: people},
	droverv1connect.ModelServiceIntegrateProcedure:         {roles: people},
	droverv1connect.ModelServiceRemoveApplicationProcedure: {roles: people},
	droverv1connect.ModelServiceRemoveUnitProcedure:        {roles: people},
	droverv1connect.ModelServiceRemoveRelationProcedure:    {roles: people},
	droverv1connect.ModelServiceRemoveMachineProcedure:     {roles: people},
	droverv1connect.ModelServiceGetConfigProcedure:         {roles: people},
	droverv1connect.ModelServiceSetConfigProcedure:         {roles: people},
	droverv1connect.ModelServiceResolveProcedure:           {roles: people},
	droverv1connect.ModelServiceStatusProcedure:            {roles: people},
	droverv1connect.ModelServiceWhyProcedure:               {roles: people},

	droverv1connect.WorkServiceDesireLRPProcedure:    {roles: people},
	droverv1connect.WorkServiceUpdateLRPProcedure:    {roles: people},
	droverv1connect.WorkServiceRemoveLRPProcedure:    {roles: people},
	droverv1connect.WorkServiceListLRPsProcedure:     {roles: people},
	droverv1connect.WorkServiceRestartLRPProcedure:   {roles: people},
	droverv1connect.WorkServiceRunTaskProcedure:      {roles: people},
	droverv1connect.WorkServiceListTasksProcedure:    {roles: people},
	droverv1connect.WorkServiceCancelTaskProcedure:   {roles: people},
	droverv1connect.WorkServiceDeleteTaskProcedure:   {roles: people},
	droverv1connect.WorkServiceListDomainsProcedure:  {roles: people},
	droverv1connect.WorkServiceUpsertDomainProcedure: {roles: people},
	droverv1connect.WorkServiceListCellsProcedure:    {roles: people},
	droverv1connect.WorkServiceEvacuateCellProcedure: {roles: people},

	droverv1connect.ServerServiceInfoProcedure:        {roles: everyone, any: true},
	droverv1connect.ServerServiceCreateTokenProcedure: {roles: people},
	droverv1connect.ServerServiceReadLogProcedure:     {roles: people},
	droverv1connect.ServerServiceWatchProcedure:       {roles: people},
	droverv1connect.ServerServiceNamesProcedure:       {roles: people},
	droverv1connect.ServerServicePowerOffProcedure:    {roles: people},

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
