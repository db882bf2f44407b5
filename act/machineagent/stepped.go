package machineagent

import (
	"context"

	"drover/wire/droverv1"
)

// Stepped drives an agent without Run: for a simulation, which plays the stream,
// the clock and the goroutines itself. None of its methods may be called at once.
type Stepped struct{ a *Agent }

// Stepped is the agent in steps; Run must not be called too.
func (a *Agent) Stepped() Stepped { return Stepped{a} }

// Request is what the agent would open its feed with now.
func (s Stepped) Request() *droverv1.FeedRequest {
	return &droverv1.FeedRequest{Resume: s.a.mirror.resume(), BootId: s.a.cfg.BootID, Epoch: s.a.epoch()}
}

// Hear takes one part of the feed; first says that it is the first one of a
// connection. An error ends the connection.
func (s Stepped) Hear(ctx context.Context, part *droverv1.FeedResponse, first bool) error {
	return s.a.hear(ctx, part, first)
}

// Disconnected notes that the feed has ended.
func (s Stepped) Disconnected() { s.a.mirror.disconnected() }

// Heartbeat sends one heartbeat.
func (s Stepped) Heartbeat(ctx context.Context) { s.a.heartbeat(ctx) }

// Answer sends one waiting answer to the auctioneer; false when none waits.
func (s Stepped) Answer(ctx context.Context) bool {
	select {
	case ack := <-s.a.acks:
		s.a.answer(ctx, ack)
		return true
	default:
		return false
	}
}

// Answers is how many answers wait.
func (s Stepped) Answers() int { return len(s.a.acks) }

// Goodbye announces a planned stop.
func (s Stepped) Goodbye(ctx context.Context) { s.a.goodbye(ctx) }

// Ended is why Run would have returned by now; nil: it would not.
func (s Stepped) Ended() error {
	select {
	case why := <-s.a.stop:
		s.a.stop <- why
		return why
	default:
		return nil
	}
}

// Close ends the agents of the units. The agent is not used again.
func (s Stepped) Close() { s.a.closeUnits() }
