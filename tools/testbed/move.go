package testbed

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MoveStep is a point of a legacy slot migration at which Move.Hook is
// called: what has just been done.
type MoveStep int

const (
	MoveImporting    MoveStep = iota // target: SETSLOT IMPORTING
	MoveMigrating                    // source: SETSLOT MIGRATING; missing keys get ASK from now on
	MoveBatch                        // source: one MIGRATE; called after every batch
	MoveEmptied                      // source: no key of the slot is left
	MoveTargetOwns                   // target: SETSLOT NODE; source and target both claim the slot
	MoveSourceGaveUp                 // source: SETSLOT NODE; MOVED from now on
	MoveAgreed                       // all running nodes name the target as owner
)

var moveStepNames = [...]string{
	MoveImporting: "importing", MoveMigrating: "migrating", MoveBatch: "batch", MoveEmptied: "emptied",
	MoveTargetOwns: "target-owns", MoveSourceGaveUp: "source-gave-up", MoveAgreed: "agreed",
}

func (s MoveStep) String() string { return moveStepNames[s] }

// Move is one legacy slot migration by SETSLOT and MIGRATE.
type Move struct {
	Slot     int
	From, To int // shards
	Batch    int // keys per MIGRATE; 0 is 100
	// Hook, if not nil, runs between the steps. An error from it ends the
	// migration there, with the slot left as it is.
	Hook func(MoveStep) error
}

const (
	moveBatch        = 100  // keys per MIGRATE
	migrateTimeoutMs = 5000 // idle time of one MIGRATE
	moveTimeout      = 60 * time.Second
)

// MoveSlotLegacy moves one slot with its keys, of every database, from the
// primary of one shard to that of another, and waits until all running nodes
// agree on the new owner. ctx bounds it together with a minute.
func (c *Cluster) MoveSlotLegacy(ctx context.Context, move Move) error {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	if move.Batch == 0 {
		move.Batch = moveBatch
	}
	if move.Hook == nil {
		move.Hook = func(MoveStep) error { return nil }
	}
	if move.Batch < 0 {
		return fmt.Errorf("move slot %d: batch of %d keys is not 1 or more", move.Slot, move.Batch)
	}
	source, target, err := c.moveEnds(move.Slot, move.Slot, move.From, move.To)
	if err != nil {
		return err
	}
	source.disturbed.Add(1)
	setslot := func(n *Node, step MoveStep, args ...any) error {
		if _, err := n.do(append([]any{"CLUSTER", "SETSLOT", move.Slot}, args...)...); err != nil {
			return err
		}
		return move.Hook(step)
	}
	for _, step := range []func() error{
		func() error { return setslot(target, MoveImporting, "IMPORTING", source.ID) },
		func() error { return setslot(source, MoveMigrating, "MIGRATING", target.ID) },
		func() error { return c.moveKeys(ctx, move, source, target) },
		func() error { return move.Hook(MoveEmptied) },
		func() error { return setslot(target, MoveTargetOwns, "NODE", target.ID) },
		func() error { return setslot(source, MoveSourceGaveUp, "NODE", target.ID) },
		func() error { return c.waitOwner(ctx, move.Slot, move.Slot, target) },
		func() error { return move.Hook(MoveAgreed) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("move slot %d from %s to %s: %w", move.Slot, source.Addr(), target.Addr(), err)
		}
	}
	return nil
}

// MoveSlotsAtomic moves a range of slots, both ends included, with CLUSTER
// MIGRATESLOTS (Valkey 9) and waits until all running nodes agree on the new
// owner. ctx bounds it together with a minute.
func (c *Cluster) MoveSlotsAtomic(ctx context.Context, first, last, from, to int) error {
	if !c.Engine.AtomicMigration() {
		return fmt.Errorf("engine %s has no CLUSTER MIGRATESLOTS: move slots one by one with SETSLOT and MIGRATE", c.Engine.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	source, target, err := c.moveEnds(first, last, from, to)
	if err != nil {
		return err
	}
	source.disturbed.Add(1)
	what := fmt.Sprintf("move slots %d-%d from %s to %s", first, last, source.Addr(), target.Addr())
	earlier, err := source.slotMigrations()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if _, err := source.do("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", first, last, "NODE", target.ID); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	var failed error
	err = poll(ctx, what, func() error {
		jobs, err := source.slotMigrations()
		if err != nil {
			return err
		}
		for name, job := range jobs {
			if _, old := earlier[name]; old {
				continue
			}
			switch state := job["state"]; state {
			case "success":
				return nil
			case "failed", "cancelled":
				failed = fmt.Errorf("%s: the migration %s: %s", what, state, job["message"])
				return nil
			default:
				return fmt.Errorf("the migration is in state %s", state)
			}
		}
		return fmt.Errorf("CLUSTER GETSLOTMIGRATIONS does not list the migration")
	})
	if err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return c.waitOwner(ctx, first, last, target)
}

// moveEnds returns the primaries at both ends of a move and makes sure that
// the source owns the slots.
func (c *Cluster) moveEnds(first, last, from, to int) (source, target *Node, err error) {
	if first < 0 || last < first || last >= SlotCount {
		return nil, nil, fmt.Errorf("slots %d to %d are not a range within 0..%d", first, last, SlotCount-1)
	}
	if from == to {
		return nil, nil, fmt.Errorf("move slots %d-%d: source and target are both shard %d", first, last, from)
	}
	if source, err = c.Primary(from); err != nil {
		return nil, nil, err
	}
	if target, err = c.Primary(to); err != nil {
		return nil, nil, err
	}
	v, err := source.view()
	if err != nil {
		return nil, nil, err
	}
	for slot := first; slot <= last; slot++ {
		if v.owner(slot) != source.ID {
			return nil, nil, fmt.Errorf("slot %d is not owned by shard %d (node %s)", slot, from, source.Addr())
		}
	}
	return source, target, nil
}

// moveKeys empties the slot at the source, one batch after the other, in
// each database that a cluster may have (Valkey's cluster-databases).
func (c *Cluster) moveKeys(ctx context.Context, move Move, source, target *Node) error {
	conn, err := source.Dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetTimeout(2 * migrateTimeoutMs * time.Millisecond)
	databases, err := source.clusterDatabases()
	if err != nil {
		return err
	}
	for db := range databases {
		if db > 0 {
			if _, err := conn.Do("SELECT", db); err != nil {
				return err
			}
		}
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			reply, err := conn.Do("CLUSTER", "GETKEYSINSLOT", move.Slot, move.Batch)
			if err != nil {
				return err
			}
			keys, _ := reply.([]any)
			if len(keys) == 0 {
				break
			}
			migrate := []any{"MIGRATE", "127.0.0.1", target.Port, "", db, migrateTimeoutMs}
			if c.password != "" {
				migrate = append(migrate, "AUTH", c.password)
			}
			if _, err := conn.Do(append(append(migrate, "KEYS"), keys...)...); err != nil {
				return fmt.Errorf("MIGRATE: %w", err)
			}
			if err := move.Hook(MoveBatch); err != nil {
				return err
			}
		}
	}
	return nil
}

// clusterDatabases returns how many databases a cluster node has: one unless
// the engine has cluster-databases and sets it higher.
func (n *Node) clusterDatabases() (int, error) {
	value, err := n.config("cluster-databases")
	if err != nil || value == "" {
		return 1, err
	}
	return strconv.Atoi(value)
}

// waitOwner waits until every running node names target as owner of the slots.
func (c *Cluster) waitOwner(ctx context.Context, first, last int, target *Node) error {
	return poll(ctx, fmt.Sprintf("all nodes to name %s as owner of slots %d-%d", target.Addr(), first, last), func() error {
		for _, n := range c.running() {
			v, err := n.view()
			if err != nil {
				return err
			}
			for slot := first; slot <= last; slot++ {
				if v.owner(slot) != target.ID {
					return fmt.Errorf("node %s does not for slot %d", n.Addr(), slot)
				}
			}
		}
		return nil
	})
}

// slotMigrations returns the fields of each job that CLUSTER
// GETSLOTMIGRATIONS lists, by its name.
func (n *Node) slotMigrations() (map[string]map[string]string, error) {
	reply, err := n.do("CLUSTER", "GETSLOTMIGRATIONS")
	if err != nil {
		return nil, err
	}
	jobs := map[string]map[string]string{}
	list, _ := reply.([]any)
	for _, item := range list {
		pairs, _ := item.([]any)
		fields := map[string]string{}
		for i := 0; i+1 < len(pairs); i += 2 {
			fields[fmt.Sprint(pairs[i])] = strings.TrimSpace(fmt.Sprint(pairs[i+1]))
		}
		jobs[fields["name"]] = fields
	}
	return jobs, nil
}
