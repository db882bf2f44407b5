// Package drover is the map of the house; it has no code of its own.
//
// Drover is one program that runs software on your machines in two ways that
// share one brain: applications described by charms (units, relations, hooks),
// and processes and tasks placed on cells by an auction. A machine with the
// host-units job is a cell. There is one store, one placement algorithm, one
// status.
//
// # Floors
//
// A folder's name says what its code is allowed to do, and imports go downwards
// only. The test at the root (law_test.go) holds the table of allowed edges.
//
//	noun/      the words: entity, work, charm, fault, when. Types and predicates.
//	decide/    pure decisions: state in, decision out. No ctx, clock, randomness,
//	           log, goroutine, or order of a map.
//	keep/      the only place where cluster state changes: store, registry
//	           (entities), board (processes, tasks, cells), identity, blob.
//	wire/      what travels: protobuf messages, generated code, the client.
//	act/       loops that look, decide, act and look again. Leader side:
//	           auctioneer, converger, resolver, cleaner, provisioner. Machine
//	           side: machineagent, unitagent, hooktool, rep, executor; the machine side
//	           talks wire and never imports keep.
//	face/      what people and programs touch: api, cli.
//	cmd/, sim  wiring: the programs; and the whole system in one process under
//	           seeded faults.
//	internal/  craft only: the loop, laws, ledgers.
//
// A function with a context.Context acts; one without it decides.
//
// # One request, walked through
//
// `drover integrate guestbook store` is read by face/cli, which asks the server
// through the client of wire. face/api looks the caller up in the table of
// authorizations and calls keep/registry inside store.Update, where
// decide/lifecycle says what the request does to rows. The transaction's row
// changes are one part of one entry of the replicated log. When it is committed,
// a new immutable View is published and the topics of the changed rows wake
// their subscribers.
//
// One of them is the feed of the machine that hosts guestbook/0: its agent
// (act/machineagent) gets the changed rows of its unit and wakes the unit's loop
// (act/unitagent). The loop looks (its state on disk, the rows), asks
// decide/uniter for the next operation, "enter the scope of guestbook:db
// store:db", writes it to the journal, and does it with one call to face/api.
// That is one more transaction; it wakes the agent of store/0, whose next
// operation is now "run db-relation-joined for guestbook/0". The hook runs as a
// process of its own; the tools it calls (drover-hook) speak to act/hooktool
// over a socket, and what they wrote goes up in one transaction when the hook
// exits 0. The other side's next operation is then "run db-relation-changed".
//
// # Where to begin reading
//
// noun/entity and noun/work for the words; decide/harmony for the tables of the
// rep and decide/uniter for the order of hooks; keep/store/doc.go for what is
// durable when; docs/explanation for the reasons, docs/decisions for choices,
// docs/spec/rules.tsv for every rule that is meant to hold.
package drover
