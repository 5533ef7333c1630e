// Command cluster runs a real cluster on loopback for trying things out and
// for benchmarks. The servers go on running when it returns; what it needs to
// find them again is in cluster.json in the cluster's directory.
//
//	cluster start [-engine valkey9.1] [-port 7000] [-primaries 3] [-replicas 1]
//	              [-password P] [-hostname H] [-conf LINE]...
//	cluster status
//	cluster kill|pause|resume|restart NODE
//	cluster failover SHARD
//	cluster move-slot [-atomic] SLOT FROM-SHARD TO-SHARD
//	cluster stop
//
// Every command takes -dir DIR. Nodes count from 0. Shard S is made of the
// nodes whose number modulo the number of primaries is S; status shows which
// of them is its primary.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"mithril/tools/testbed"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

// errUsage marks errors of the command line itself.
var errUsage = errors.New("usage")

// command is one verb: the names of its arguments, its flags and its action.
type command struct {
	args  []string
	about string
	flags func(*options, *flag.FlagSet)
	run   func(context.Context, options, []string) error
}

// options are the values of all flags of all verbs, and where results go.
type options struct {
	out    io.Writer
	start  testbed.Options
	atomic bool
}

// verbs in the order in which usage lists them.
var verbs = []string{"start", "status", "kill", "pause", "resume", "restart", "failover", "move-slot", "stop"}

var commands = map[string]command{
	"start":     {nil, "start a cluster and show it", startFlags, start},
	"status":    {nil, "show nodes, roles, slots and process ids", nil, status},
	"kill":      {[]string{"NODE"}, "end a node with SIGKILL", nil, onNode((*testbed.Cluster).Kill)},
	"pause":     {[]string{"NODE"}, "stop a node with SIGSTOP", nil, onNode((*testbed.Cluster).Pause)},
	"resume":    {[]string{"NODE"}, "continue a paused node", nil, onNode((*testbed.Cluster).Resume)},
	"restart":   {[]string{"NODE"}, "end a node and start it again, without its keys", nil, restart},
	"failover":  {[]string{"SHARD"}, "make a replica of the shard its primary", nil, failover},
	"move-slot": {[]string{"SLOT", "FROM", "TO"}, "move a slot and its keys between two shards", moveFlags, moveSlot},
	"stop":      {nil, "end every node", nil, stop},
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil:
	case errors.Is(err, errUsage):
		os.Exit(exitUsage)
	default:
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(exitFailed)
	}
}

// run parses the command line and runs one verb. What is wrong with the
// command line goes to errs, with the usage.
func run(ctx context.Context, words []string, out, errs io.Writer) error {
	if len(words) == 0 {
		usage(errs)
		return errUsage
	}
	verb := words[0]
	if verb == "help" || verb == "-h" || verb == "-help" || verb == "--help" {
		usage(out)
		return nil
	}
	cmd, ok := commands[verb]
	if !ok {
		fmt.Fprintf(errs, "cluster: unknown command %q\n", verb)
		usage(errs)
		return errUsage
	}
	o := options{out: out}
	flags := flag.NewFlagSet("cluster "+verb, flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&o.start.Dir, "dir", filepath.Join(os.TempDir(), "mithril-cluster"), "directory of the cluster")
	if cmd.flags != nil {
		cmd.flags(&o, flags)
	}
	args, err := parse(flags, words[1:])
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return errUsage
	}
	if len(args) != len(cmd.args) {
		fmt.Fprintf(errs, "cluster: got %d arguments, want: cluster %s\n",
			len(args), strings.Join(append([]string{verb}, cmd.args...), " "))
		return errUsage
	}
	return cmd.run(ctx, o, args)
}

// parse lets flags stand before, between and after the arguments.
func parse(flags *flag.FlagSet, words []string) (args []string, err error) {
	for {
		if err := flags.Parse(words); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return args, nil
		}
		args = append(args, flags.Arg(0))
		words = flags.Args()[1:]
	}
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: cluster COMMAND [-dir DIR] [flags] [arguments]")
	for _, verb := range verbs {
		cmd := commands[verb]
		fmt.Fprintf(w, "  %-24s %s\n", strings.Join(append([]string{verb}, cmd.args...), " "), cmd.about)
	}
	fmt.Fprintln(w, "cluster COMMAND -h lists a command's flags")
}

func startFlags(o *options, flags *flag.FlagSet) {
	flags.StringVar(&o.start.Engine, "engine", testbed.Valkey91, "one of "+strings.Join(testbed.Engines, ", "))
	flags.IntVar(&o.start.BasePort, "port", 7000, "port of node 0; the others follow")
	flags.IntVar(&o.start.Primaries, "primaries", 3, "number of shards")
	flags.IntVar(&o.start.Replicas, "replicas", 1, "replicas of each primary")
	flags.StringVar(&o.start.Password, "password", "", "requirepass of every node")
	flags.StringVar(&o.start.Hostname, "hostname", "", "cluster-announce-hostname of every node")
	flags.Func("conf", "further configuration `line` of every node; may be repeated", func(line string) error {
		o.start.Config = append(o.start.Config, line)
		return nil
	})
}

func moveFlags(o *options, flags *flag.FlagSet) {
	flags.BoolVar(&o.atomic, "atomic", false, "use CLUSTER MIGRATESLOTS instead of SETSLOT and MIGRATE")
}

func start(ctx context.Context, o options, _ []string) error {
	o.start.Detached = true
	if o.start.Replicas == 0 {
		o.start.Replicas = testbed.NoReplicas
	}
	c, err := testbed.Start(ctx, o.start)
	if err != nil {
		return err
	}
	show(o.out, c)
	return nil
}

func status(_ context.Context, o options, _ []string) error {
	c, err := testbed.Open(o.start.Dir)
	if err != nil {
		return err
	}
	show(o.out, c)
	return nil
}

func stop(_ context.Context, o options, _ []string) error {
	c, err := testbed.Open(o.start.Dir)
	if err != nil {
		return err
	}
	return c.Stop()
}

func restart(ctx context.Context, o options, args []string) error {
	return onNode(func(c *testbed.Cluster, node int) error { return c.Restart(ctx, node) })(ctx, o, args)
}

// onNode makes an action of a verb whose one argument is a node's number.
func onNode(act func(*testbed.Cluster, int) error) func(context.Context, options, []string) error {
	return func(_ context.Context, o options, args []string) error {
		node, err := number("NODE", args[0])
		if err != nil {
			return err
		}
		c, err := testbed.Open(o.start.Dir)
		if err != nil {
			return err
		}
		return act(c, node)
	}
}

func failover(ctx context.Context, o options, args []string) error {
	shard, err := number("SHARD", args[0])
	if err != nil {
		return err
	}
	c, err := testbed.Open(o.start.Dir)
	if err != nil {
		return err
	}
	node, err := c.Failover(ctx, shard)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "node %d is primary of shard %d\n", node, shard)
	return nil
}

func moveSlot(ctx context.Context, o options, args []string) error {
	var numbers [3]int
	for i, name := range []string{"SLOT", "FROM", "TO"} {
		var err error
		if numbers[i], err = number(name, args[i]); err != nil {
			return err
		}
	}
	slot, from, to := numbers[0], numbers[1], numbers[2]
	c, err := testbed.Open(o.start.Dir)
	if err != nil {
		return err
	}
	if o.atomic {
		err = c.MoveSlotsAtomic(ctx, slot, slot, from, to)
	} else {
		err = c.MoveSlotLegacy(ctx, testbed.Move{Slot: slot, From: from, To: to})
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "slot %d is at shard %d\n", slot, to)
	return nil
}

func number(name, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s %q is not a number of 0 or more", name, text)
	}
	return n, nil
}

// show prints the cluster as a table.
func show(out io.Writer, c *testbed.Cluster) {
	fmt.Fprintf(out, "%s cluster in %s\n", c.Engine.Name, c.Dir)
	fmt.Fprintf(out, "%-4s %-5s %-15s %-8s %-8s %-7s %-5s %-40s %s\n", "node", "shard", "address", "state", "role", "pid", "serves", "id", "slots")
	for _, s := range c.Status() {
		serves := "no"
		if s.OK {
			serves = "yes"
		}
		var slots []string
		for _, r := range s.Slots {
			slots = append(slots, r.String())
		}
		fmt.Fprintf(out, "%-4d %-5d %-15s %-8s %-8s %-7d %-5s %-40s %s\n",
			s.Index, s.Shard, s.Addr, s.State, s.Role, s.PID, serves, s.ID, strings.Join(slots, " "))
	}
}
