package worker

import (
	"bytes"
	"log/slog"
	"testing"

	"mithril/src/admin"
	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/ring"
	"mithril/src/session"
	"mithril/src/topology"
)

// bureau is a number of workers without nodes, whose letters the test delivers.
type bureau []*Worker

func newBureau(t *testing.T, workers int) bureau {
	t.Helper()
	shared, post := &Shared{}, NewPost(workers, PostLimits{})
	b := make(bureau, workers)
	for i := range b {
		arena, err := buf.NewArena(make(buf.HeapMemory, 8<<20), 64)
		if err != nil {
			t.Fatal(err)
		}
		b[i] = New(Options{
			Number: i, Ring: &ends{arena: arena}, Arena: arena, Shared: shared, Post: post, Log: slog.New(slog.DiscardHandler),
			Session:  session.Env{Limits: resp.Authenticated, FreshLimits: resp.Unauthenticated},
			Commands: func() *command.Table { return command.ForEngine(topology.EngineRedis, 8, 0) },
			Lanes:    1, MaxClients: 1000, Admin: &admin.Server{},
		})
	}
	return b
}

// visitor makes a client of a worker.
func (w *Worker) visitor() *client {
	w.Shared.Clients.Add(1)
	return w.admit(clientEnd, w.Shared.LastID.Add(1))
}

// says has a client send requests.
func (w *Worker) says(t *testing.T, c *client, requests ...[]string) {
	t.Helper()
	var text []byte
	for _, words := range requests {
		text = resp.AppendCommand(text, words...)
	}
	data, ok := w.Arena.Copy(text)
	if !ok {
		t.Fatal("out of memory")
	}
	w.clientEvent(c, &ring.Event{Kind: ring.Received, Token: c.Token, Data: data})
}

// heard is what a client is to be sent.
func (w *Worker) heard(c *client) string {
	var all bytes.Buffer
	for _, s := range c.Out().Slices() {
		all.Write(w.Arena.Bytes(s))
	}
	return all.String()
}

// correspond is what a turn does with letters.
func (w *Worker) correspond() {
	w.receiveLetters()
	w.askNext()
	for _, t := range w.ready {
		if c := w.clients.get(t); c != nil {
			c.ready = false
			w.feed(c)
		}
	}
	w.ready = w.ready[:0]
	w.sendLetters()
}

var list, setName = []string{"CLIENT", "LIST"}, []string{"CLIENT", "SETNAME", "x"}

// TestContract_OBS2_SurveyBeforeWhatFollows: what a client asks for behind a list is read when all workers have been visited.
func TestContract_OBS2_SurveyBeforeWhatFollows(t *testing.T) {
	b := newBureau(t, 3)
	here := b[0]
	asker, other := here.visitor(), b[2].visitor()
	here.says(t, asker, list, setName)
	here.sendLetters()
	for _, w := range b[1:] {
		if asker.Unread() == 0 || len(asker.Name()) > 0 || here.heard(asker) != "" || here.surveys != 1 {
			t.Fatalf("before worker %d is visited: %d bytes unread, name %q, %d surveys", w.Number, asker.Unread(), asker.Name(), here.surveys)
		}
		w.correspond()
		here.receiveLetters()
	}
	here.correspond()
	if string(asker.Name()) != "x" || asker.Unread() != 0 || here.surveys != 0 || len(here.Shared.surveys.open) != 0 {
		t.Errorf("behind the survey: name %q, %d bytes unread, %d surveys", asker.Name(), asker.Unread(), here.surveys)
	}
	reply := here.heard(asker)
	if bytes.Count([]byte(reply), []byte("\nid=")) != 2 || !bytes.HasSuffix([]byte(reply), []byte("\r\n+OK\r\n")) {
		t.Errorf("%q", reply)
	}
	if got := b[2].heard(other); got != "" {
		t.Errorf("another client gets %q", got)
	}
}

// TestContract_OBS2_SurveyOfNobody: a client that has left is missed by nobody, and its place can be taken.
func TestContract_OBS2_SurveyOfNobody(t *testing.T) {
	b := newBureau(t, 2)
	here := b[0]
	gone := here.visitor()
	here.says(t, gone, list)
	gone.end.recv = recvOver
	gone.Kill("")
	here.closeClient(gone)
	next := here.visitor()
	here.sendLetters()
	b[1].correspond()
	here.correspond()
	if here.surveys != 0 || len(here.Shared.surveys.open) != 0 || here.heard(next) != "" {
		t.Errorf("%d surveys, and the next client gets %q", here.surveys, here.heard(next))
	}
}

// TestContract_OBS2_SurveysAtOnce: there are only so many, and those who wait come in their order, but for those who leave.
func TestContract_OBS2_SurveysAtOnce(t *testing.T) {
	const more = 5
	b := newBureau(t, 2)
	here := b[0]
	var clients []*client
	for range SurveysMax + more {
		c := here.visitor()
		here.says(t, c, list, setName)
		clients = append(clients, c)
	}
	if here.surveys != SurveysMax || len(here.askers) != more {
		t.Fatalf("%d surveys, %d clients wait", here.surveys, len(here.askers))
	}
	leaves := clients[SurveysMax+1]
	leaves.end.recv = recvOver
	leaves.Kill("")
	here.closeClient(leaves)
	for range 2 {
		here.sendLetters()
		b[1].correspond()
		here.correspond()
	}
	if here.surveys != 0 || len(here.askers) != 0 {
		t.Errorf("in the end: %d surveys, %d clients wait", here.surveys, len(here.askers))
	}
	for i, c := range clients {
		if c != leaves && !bytes.HasSuffix([]byte(here.heard(c)), []byte("\r\n+OK\r\n")) {
			t.Errorf("client %d gets %q", i, here.heard(c))
		}
	}
}

// TestContract_OBS2_SurveyAlone: a worker without others answers at once.
func TestContract_OBS2_SurveyAlone(t *testing.T) {
	here := newBureau(t, 1)[0]
	c := here.visitor()
	here.says(t, c, list, setName, list)
	if here.surveys != 0 || string(c.Name()) != "x" || bytes.Count([]byte(here.heard(c)), []byte("\nid=1 ")) != 2 {
		t.Errorf("%d surveys, name %q, reply %q", here.surveys, c.Name(), here.heard(c))
	}
}

// TestContract_OBS1_SnapshotOfTheMoment: what a worker tells of the last second and of its memory.
func TestContract_OBS1_SnapshotOfTheMoment(t *testing.T) {
	here := newBureau(t, 1)[0]
	c := here.visitor()
	here.says(t, c, []string{"PING"}, []string{"TIME"}, []string{"NONESUCH"}, setName)
	for _, want := range []uint64{0, 3, 0} {
		if got := here.Snapshot(); got.Rate != want || got.Clients != 1 || got.Blocks != here.Arena.UsedBytes() || got.Blocks == 0 {
			t.Errorf("%+v, want %d commands in the last second", got, want)
		}
		here.sweep()
	}
}
