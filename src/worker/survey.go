package worker

import (
	"reflect"
	"sync"

	"mithril/src/admin"
	"mithril/src/ring"
	"mithril/src/session"
)

// SurveysMax is how many surveys of a worker's clients are under way at most. Each holds what all
// workers have told so far; the next ones wait.
const SurveysMax = 64

// survey is a request that every worker has a part in, on its way.
type survey struct {
	admin.Survey
	client ring.Token
	seq    uint32
	due    int // workers that have not been visited; only the worker of the client counts
}

// surveys are those under way in the process, by number. They are for commands about the proxy itself,
// so a lock is cheap enough.
type surveys struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]*survey
}

// begin enters a survey and returns its number.
func (l *surveys) begin(s *survey) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[uint64]*survey{}
	}
	l.last++
	l.open[l.last] = s
	return l.last
}

func (l *surveys) find(number uint64) *survey {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[number]
}

func (l *surveys) end(number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, number)
}

// ask begins a survey for the request just accepted. This worker has been visited, the others are in their
// next turn.
func (w *Worker) ask(c *client, seq uint32, question admin.Survey) {
	s := &survey{Survey: question, client: c.Token, seq: seq, due: w.workers() - 1}
	if s.due == 0 {
		w.tellResult(s)
		return
	}
	c.HoldAlone()
	w.surveys++
	number := w.Shared.surveys.begin(s)
	for _, p := range w.others {
		p.say(letterAsk, ring.Token(number))
	}
}

// visited is called when another worker asks: it gets to know what this one knows.
func (w *Worker) visited(p *peer, l *letter) {
	w.Shared.surveys.find(uint64(l.token)).Visit(w.Number, w)
	p.say(letterTold, l.token)
}

// told notes that another worker has been visited. With the last one the reply is complete.
func (w *Worker) told(l *letter) {
	number := uint64(l.token)
	s := w.Shared.surveys.find(number)
	if s.due--; s.due > 0 {
		return
	}
	w.Shared.surveys.end(number)
	w.surveys--
	w.tellResult(s)
}

// tellResult answers what a survey was for, if its client is still there.
func (w *Worker) tellResult(s *survey) {
	c := w.clients.get(s.client)
	if c == nil {
		return
	}
	w.scratch = s.AppendReply(w.scratch[:0])
	c.AnswerBytes(&w.env, s.seq, w.scratch)
	w.touch(c)
	w.goOn(c)
}

// waitToAsk holds a client until another survey may begin.
func (w *Worker) waitToAsk(c *client) {
	c.HoldForPipe()
	c.waitsOn = 0
	w.askers = append(w.askers, c.Token)
}

// askNext lets as many of those go on that wait to ask as may.
func (w *Worker) askNext() {
	for may := SurveysMax - w.surveys; may > 0 && len(w.askers) > 0; w.askers = w.askers[1:] {
		c := w.clients.get(w.askers[0])
		if c == nil {
			continue
		}
		may--
		c.PipeHasRoom()
		if !c.ready {
			c.ready = true
			w.ready = append(w.ready, c.Token)
		}
	}
}

// workers is how many the process has.
func (w *Worker) workers() int { return 1 + len(w.others) }

// EachCommand tells how often each command has been called.
func (w *Worker) EachCommand(f func(name string, calls uint64)) { w.env.EachCommand(f) }

// EachClient tells of every client that is served.
func (w *Worker) EachClient(f func(*admin.Client)) {
	var told admin.Client
	w.clients.each(func(c *client) {
		if c.end.state == endOpen && !c.turnedAway && c.State() != session.Dead {
			w.describe(c, &told)
			f(&told)
		}
	})
}

// clientBytes is the memory of a client itself.
var clientBytes = int64(reflect.TypeFor[client]().Size())

// describe tells what the CLIENT commands show of c.
func (w *Worker) describe(c *client, to *admin.Client) {
	if !c.local.IsValid() {
		c.local = w.Ring.Local(c.end.socket)
	}
	waiting, pieces := c.Waiting()
	answered := c.answers + uint64(c.Answered()-c.answered)
	libName, libVer := c.Lib()
	*to = admin.Client{
		ID: c.ID, Addr: c.Peer, Local: c.local, Socket: int(c.end.socket),
		Name: c.Name(), LibName: libName, LibVer: libVer, Flags: c.AppendFlags(to.Flags[:0]),
		Command: c.LastCommand, Proto: c.Proto(), Worker: w.Number,
		Age: (w.now - c.Born) / second, Idle: (w.now - max(c.heard, c.moved)) / second,
		Unread: c.Unread(), Waiting: waiting, Pieces: pieces + len(c.end.out.Slices()), Memory: clientBytes + c.Memory(),
		Receiving: c.end.recv == recvArmed, Sending: c.end.sending(),
		BytesIn: c.received, BytesOut: c.delivered, Commands: answered - min(answered, c.Rejected()),
	}
}
