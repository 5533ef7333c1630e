package sim

import (
	"bytes"
	"strings"
	"testing"

	"mithril/src/buf"
	"mithril/src/ring"
)

// often is how often a mutant does what it does, of the occasions it has.
const often = 0.02

// splitFrames splits what one send carries; nil when it does not end with a frame.
func splitFrames(op *ring.Op, sent []byte) (frames [][]byte) {
	for len(sent) > 0 {
		n := 0
		if op.Token.Kind() == ring.KindPipe {
			_, n, _ = parseRequest(sent)
		} else {
			n, _ = parseReply(sent)
		}
		if n == 0 {
			return nil
		}
		frames = append(frames, sent[:n])
		sent = sent[n:]
	}
	return frames
}

// onFrames is a mutant that changes the frames sent to one side.
func onFrames(name string, side ring.Kind, change func(w *World, frames [][]byte) [][]byte) mutant {
	return mutant{name: name, send: func(r *Ring, op *ring.Op, sent []byte) []byte {
		if op.Token.Kind() != side || !r.world.chance(often) {
			return nil
		}
		frames := splitFrames(op, sent)
		if frames == nil {
			return nil
		}
		return bytes.Join(change(r.world, frames), nil)
	}}
}

// eachFrame is a mutant that changes single frames; change answers nil to leave one.
func eachFrame(name string, side ring.Kind, change func(frame []byte) []byte) mutant {
	return onFrames(name, side, func(_ *World, frames [][]byte) [][]byte {
		for i, f := range frames {
			if changed := change(bytes.Clone(f)); changed != nil {
				frames[i] = changed
			}
		}
		return frames
	})
}

func isHello(frames [][]byte) bool { return bytes.Contains(frames[0], []byte("HELLO")) }

var mutants = []mutant{
	onFrames("two replies swapped", ring.KindSession, func(w *World, frames [][]byte) [][]byte {
		if len(frames) > 1 {
			frames[0], frames[1] = frames[1], frames[0]
		}
		return frames
	}),
	onFrames("a reply lost", ring.KindSession, func(w *World, frames [][]byte) [][]byte { return frames[1:] }),
	onFrames("a reply given twice", ring.KindSession, func(w *World, frames [][]byte) [][]byte {
		return append([][]byte{frames[0]}, frames...)
	}),
	eachFrame("a byte of a reply changed", ring.KindSession, func(f []byte) []byte {
		f[len(f)-3] ^= 1
		return f
	}),
	eachFrame("a redirect passed on", ring.KindSession, func([]byte) []byte { return []byte("-MOVED 1 10.0.0.1:7000\r\n") }),
	eachFrame("a refusal of what was executed", ring.KindSession, func(f []byte) []byte {
		if f[0] == ':' {
			return []byte("-TRYAGAIN slot 1 is being moved between nodes, the request could not be completed\r\n")
		}
		return nil
	}),
	eachFrame("success of what was not executed", ring.KindSession, func(f []byte) []byte {
		if bytes.HasPrefix(f, []byte("-TRYAGAIN")) {
			return []byte(replyOK)
		}
		return nil
	}),
	onFrames("a request sent twice", ring.KindPipe, func(w *World, frames [][]byte) [][]byte {
		if isHello(frames) {
			return frames
		}
		return append([][]byte{frames[0]}, frames...)
	}),
	onFrames("a request lost", ring.KindPipe, func(w *World, frames [][]byte) [][]byte {
		if isHello(frames) {
			return frames
		}
		return frames[1:]
	}),
	onFrames("two requests swapped", ring.KindPipe, func(w *World, frames [][]byte) [][]byte {
		if len(frames) > 1 {
			frames[0], frames[1] = frames[1], frames[0]
		}
		return frames
	}),
	onFrames("ASKING forgotten", ring.KindPipe, func(w *World, frames [][]byte) (kept [][]byte) {
		for _, f := range frames {
			if !strings.Contains(string(f), "ASKING") {
				kept = append(kept, f)
			}
		}
		return kept
	}),
	{name: "a buffer used again before its send has ended", send: func(r *Ring, op *ring.Op, sent []byte) []byte {
		if r.world.chance(often) {
			b := r.arena.Bytes(op.Out[len(op.Out)-1])
			copy(b[len(b)/2:], "*1\r\n$4\r\nPING\r\n")
		}
		return nil
	}},
	{name: "a buffer released twice", send: func(r *Ring, op *ring.Op, sent []byte) []byte {
		if r.world.chance(often) {
			r.arena.Release(op.Out[0].Block)
		}
		return nil
	}},
	{name: "a received chunk never given back", received: func(r *Ring, ev *ring.Event) {
		if r.world.chance(often) {
			r.arena.Retain(ev.Data.Block)
		}
	}},
	{name: "a received chunk overwritten while it is in use", received: func(r *Ring, ev *ring.Event) {
		if ev.N < buf.CopyBytesMax && r.world.chance(often) {
			b := r.arena.Bytes(ev.Data)
			copy(b[len(b)/2:], "*1\r\n$4\r\nPING\r\n")
		}
	}},
}

// plain is a Config for mutants: moves and refusals, but nothing that would excuse them.
func plain(seed uint64) Config {
	c := Config{
		Seed: seed, Sessions: 8, Requests: 60, Chunks: 64, Room: 64 << 10, Latency: 500 * microsecond, Lanes: 1, Depth: 16, ValueBytes: 100,
	}
	for kind := range c.Weights {
		c.Weights[kind] = 2
	}
	c.Weights[opLocal] = 0
	c.F.Migrate = 1
	c.F.LateMap = 0.5
	c.F.NodeRefuse = 0.2
	return c
}

// TestMutantsAreCaught breaks the program in ways that defects would, and expects every
// one to be noticed within a few seeds.
func TestMutantsAreCaught(t *testing.T) {
	const seedsMax = 40
	var s Simulator
	for seed := range uint64(seedsMax) {
		if result := s.Run(plain(seed), nil); result.Err != nil {
			t.Fatalf("without a mutant seed %d fails: %v", seed, result.Err)
		}
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			for seed := range uint64(seedsMax) {
				if err := s.run(plain(seed), nil, &m).Err; err != nil {
					line, _, _ := strings.Cut(err.Error(), "\n")
					t.Logf("seed %d: %s", seed, line)
					return
				}
			}
			t.Errorf("not noticed in %d seeds", seedsMax)
		})
	}
}
