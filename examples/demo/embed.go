// Package demo is the demo's bundle with its charms, as plain files that are
// also in the program.
//
// It runs nothing: the charms' software is in package software, which the
// program offers as hidden subcommands.
//
// Invariant: the bundle's charms are in the folders that it names.
package demo

import "embed"

// Files are bundle.yaml and a folder for each charm. Embedded files have no run
// bits: whoever packs them sets those of the hooks.
//
//go:embed bundle.yaml store guestbook probe
var Files embed.FS
