package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"drover/keep/store"
)

// message is a pointer to a message's type.
type message[M any] interface {
	*M
	proto.Message
}

// once runs a change in a transaction that remembers its answer under the
// request id, so that a retry gets the first answer. The id is the caller's own:
// with another caller or method it is another request. A request without an id
// gets a fresh one, and no protection from its own repetition.
func once[M any, P message[M]](ctx context.Context, s *Server, req connect.AnyRequest, requestID string, fn func(tx *store.Txn) (P, error)) (*connect.Response[M], error) {
	if requestID == "" {
		requestID = s.cfg.NewID()
	}
	key := strings.Join([]string{callerOf(ctx).URI().String(), req.Spec().Procedure, requestID}, "\x00")
	sum := sha256.Sum256([]byte(key))
	data, _, err := s.cfg.Store.Once(ctx, hex.EncodeToString(sum[:]), func(tx *store.Txn) ([]byte, error) {
		answer, err := fn(tx)
		if err != nil {
			return nil, err
		}
		s.record(ctx, tx, req)
		return proto.Marshal(answer)
	})
	if err != nil {
		return nil, err
	}
	answer := P(new(M))
	if err := proto.Unmarshal(data, answer); err != nil {
		return nil, err
	}
	return connect.NewResponse((*M)(answer)), nil
}

// update runs a change that is idempotent by itself: what agents observe and
// report.
func update[M any, P message[M]](ctx context.Context, s *Server, fn func(tx *store.Txn) (P, error)) (*connect.Response[M], error) {
	var answer P
	_, err := s.cfg.Store.Update(ctx, func(tx *store.Txn) (err error) {
		answer, err = fn(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse((*M)(answer)), nil
}
