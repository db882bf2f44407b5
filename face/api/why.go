package api

import (
	"context"

	"connectrpc.com/connect"

	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

func (s *Server) explain(*store.View, entity.ModelUID, *droverv1.StatusResponse) {}

func (m *modelService) Why(context.Context, *connect.Request[droverv1.WhyRequest]) (*connect.Response[droverv1.WhyResponse], error) {
	return nil, fault.New(fault.Internal, "unwritten")
}
