package command

import "mithril/src/resp"

// Command is one row of a Table: a command, or a subcommand of a container such as CLIENT. It never changes. The fields that every
// request reads come first.
type Command struct {
	pattern pattern // of the short name

	Flags    Flags
	KeyFlags KeyFlags // of the key at KeyIndex
	Arity    int16    // arguments with the name: exact if positive, the least if negative
	ID       uint16   // position in the table, for counters: 0 <= ID < Table.Len()
	KeyIndex uint8    // position of the only key among the arguments; 0 = use Keys
	Route    Route
	KeyStep  uint8 // RouteSplit: arguments per key, from argument 1 on
	ArgIndex uint8 // RouteSlotArg, RouteCursor: position of the argument that holds the slot number, the cursor; 0 = there is none
	Script   ScriptRole

	CursorLast bool // RouteCursor: the reply's cursor is its last element and an integer, not its first and a string

	// RawErrors says that servers write what the client has sent into an error without taking line ends out: to whoever reads the
	// connection that error is more than one reply.
	RawErrors bool

	Request  RequestPolicy
	Response ResponsePolicy // how the replies of several nodes become one

	Name       string // as the server spells it: "get", "client|list", "VADD"
	ShortName  string // "list" for "client|list"
	Categories Categories
	KeySpecs   []KeySpec
	Tips       []string // in the server's words and order
	parent     *Command // nil unless a subcommand
	subs       []Command

	variableFlags func(frame []byte, args []resp.Arg) KeyFlags // in place of flags with KeyVariableFlags; nil if there are none

	blockOption bool   // blocks only if it has the option BLOCK
	info        string // RESP3: the COMMAND INFO row without its header and, in a container, its subcommands
	docs        string // RESP3: the pairs of its COMMAND DOCS without subcommands
	docsPairs   int
}

// Accepts reports whether n arguments, the name included, fit the arity.
func (c *Command) Accepts(n int) bool {
	if c.Arity >= 0 {
		return n == int(c.Arity)
	}
	return n >= -int(c.Arity)
}

// Parent returns the container of a subcommand, nil for a command.
func (c *Command) Parent() *Command { return c.parent }

// Subcommands returns the rows of a container's subcommands in name order, refused ones included; nil for other commands. The
// caller must not change them.
func (c *Command) Subcommands() []Command { return c.subs }

// Offered reports whether COMMAND and its subcommands show the command: the proxy carries it or, of a container, any subcommand. Find
// finds a RouteLater command all the same, for the sake of its error.
func (c *Command) Offered() bool {
	if len(c.subs) != 0 {
		return c.offeredSubs() != 0
	}
	return c.Route != RouteLater && c.Route != RouteRefused
}

func (c *Command) offeredSubs() int {
	n := 0
	for i := range c.subs {
		if c.subs[i].Offered() {
			n++
		}
	}
	return n
}

// HasKeys reports whether the command can have keys, or channels that are routed like keys.
func (c *Command) HasKeys() bool { return len(c.KeySpecs) != 0 }

// RunsScripts reports whether the reply may be whatever a script of the client's wants it to be, errors that look like the server's
// own included.
func (c *Command) RunsScripts() bool { return c.Categories&categoryScripting != 0 }

// Reads says that the command changes nothing, so that it may be executed twice, or in part.
func (c *Command) Reads() bool { return c.Flags&FlagReadOnly != 0 }

// Blocks reports whether a request may block its connection: always for BLPOP and its like, for XREAD and XREADGROUP when they
// have the option BLOCK.
func (c *Command) Blocks(frame []byte, args []resp.Arg) bool {
	if !c.blockOption {
		return c.Flags&FlagBlocking != 0
	}
	return streamReadOptions.find(frame, args, "block") != 0
}

// Begin says how a key spec finds its first key.
type Begin uint8

// Ways to find the first key.
const (
	BeginUnknown Begin = iota // only the server knows
	BeginIndex                // at argument Index
	BeginKeyword              // behind the word Keyword, searched from argument Index on; from the end backwards if negative
	BeginOption               // by the command's option grammar (corrections.go)
)

// Count says how a key spec finds its other keys.
type Count uint8

// Ways to find the other keys.
const (
	CountUnknown Count = iota // only the server knows
	CountRange                // from the first key to LastKey in steps of Step
	CountKeynum               // as many as an argument says
)

// KeySpec tells where keys are among a command's arguments. See https://redis.io/docs/latest/develop/reference/key-specs/.
type KeySpec struct {
	Flags   KeyFlags
	Begin   Begin
	Count   Count
	Index   int16
	Keyword string // lower case
	LastKey int16  // relative to the first key; if negative, to the end
	Step    int16  // arguments from one key to the next
	Limit   int16  // above 1 with LastKey < 0: only the first 1/Limit of the remaining arguments
	Keynum  int16  // CountKeynum: where the number is, relative to the begin
	First   int16  // CountKeynum: where the first key is, relative to the begin
	even    bool   // Limit: as many arguments as keys must remain, or there are no keys
	options *optionGrammar
}
