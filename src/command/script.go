package command

// ScriptRole is what a command has to do with the scripts that servers know by their SHA1.
type ScriptRole uint8

// The roles.
const (
	ScriptNone  ScriptRole = iota
	ScriptBody             // argument ArgIndex is the body of one
	ScriptSHA              // argument ArgIndex is the SHA1 of one
	ScriptFlush            // the servers forget all of them
	ScriptKill             // ends the one, or the function, that runs
)
