// Package config reads failwise's configuration: one YAML file, the environment,
// and flags, of which the later one wins, and it remembers for each setting who
// won.
//
// [Load] reads a configuration whole or not at all. Every key stands in the table
// that [Keys] returns, with its type, unit and default; a key that is not there is
// an error that names the line and, where one is near, the key that was meant.
//
// A cluster's settings come, in this order, from the built-in defaults, the
// profile, the file's block defaults, the cluster's own block, the environment
// and the flags.
//
// Passwords are not settings: [Account.Resolve] asks their source at the moment
// they are needed, and hands them out as secrets that do not print themselves.
//
// Not here: rule files, whose parser keeps positions of its own (package rules).
package config
