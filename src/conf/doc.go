// Package conf reads the configuration: a file of "key value" lines in the
// format of redis.conf, overridden by --key value pairs of the command line
// (CONF1-CONF3).
//
//	command line --+                            +--> Config (typed fields)
//	               +--> words --> key table --> |
//	file, include -+    words.go  keys.go       +--> Errors (every one found)
//
// One table, keys.go, knows every key: its name, default, type and range, the
// field that holds it, whether it is secret or live-settable, and one line of
// help. Parsing, printing (Get), the default configuration, the help text and
// the check of the sample file all walk that table. kinds.go holds the types
// of values, each of which reads and prints the same form; unavailable.go
// lists the keys that this build refuses to set.
//
// A value is either accepted with all its effect or refused with a text that
// names the place, the key, the value and what would be accepted. Either the
// whole configuration is returned or none of it.
//
// The package is pure: files are read through the function that Parse is
// given.
package conf
