package worker

import (
	"mithril/src/buf"
	"mithril/src/invariant"
	"mithril/src/mailbox"
	"mithril/src/ring"
)

const (
	// LettersMax is how many letters from one worker to another wait at most. With many workers
	// it is halved, so that those to one are lettersOfOne together, but for lettersMin each.
	LettersMax   = 2048
	lettersOfOne = 32 << 10
	lettersMin   = 256

	// LentBytesMax is how many bytes of replies are lent to one worker before it has to be
	// done with some.
	LentBytesMax = 4 << 20
)

// PostLimits bound what is under way from one worker to another. The zero PostLimits are those
// in force.
type PostLimits struct {
	Letters   int // LettersMax; a power of two
	LentBytes int // LentBytesMax
}

// kept is how many letters are kept for those without which no others can follow: bytes of
// requests and replies wait for more room than this.
func (l *PostLimits) kept() int { return l.Letters / 8 }

// letterKind says what a letter is about.
type letterKind uint8

// The kinds. Those of the first group go from the worker with a far pipe to the one that has
// its connection, those of the second back; token names the far pipe.
const (
	letterNone     letterKind = iota
	letterOpen                // data: which connection it is to be
	letterRequests            // data: bytes of requests; n: how many replies they bring, 0 if they go on in the next one
	letterPause               // replies are not taken now
	letterResume              // and now they are
	letterDetach              // a large reply comes, nobody new shall have to wait behind it
	letterRetire              // the connection leads to another node than was thought
	letterClose               // the far pipe is no more
	letterDrop                // nor shall the connection be; data: why

	letterReplies  // data: bytes of replies; n: how many end in them
	letterHurry    // others wait behind a large reply that is not taken
	letterDetached // new requests take another connection
	letterEnded    // the connection is no more; n: how many replies were asked of the node; data: why
	letterRefused  // there is none; data: why

	letterAsk  // between any two: token is the number of a survey that wants to know of the reader
	letterTold // and now it does

	letterClient // from the worker with the listeners; n: the socket of a new client; token: its CLIENT ID
)

// letter is what one worker writes to another. The bytes of data lie in the memory of the
// writer, and are lent until the reader is done with the letter.
type letter struct {
	data  buf.Slice
	token ring.Token
	n     uint32
	kind  letterKind
}

// Post is what the workers of a process share to write to each other.
type Post struct {
	workers int
	limits  PostLimits
	queues  []*mailbox.Queue[letter] // from worker a to worker b at a*workers+b
	bells   []mailbox.Bell
	arenas  []*buf.Arena
	rings   []ring.Socket // what the engines are rung by
	gauges  []gauge
}

// NewPost makes the post of so many workers. All of them are made before the first one turns.
func NewPost(workers int, limits PostLimits) *Post {
	if limits == (PostLimits{}) {
		limits = PostLimits{LettersMax, LentBytesMax}
		for limits.Letters*workers > lettersOfOne && limits.Letters > lettersMin {
			limits.Letters /= 2
		}
	}
	t := &Post{
		workers: workers, limits: limits, queues: make([]*mailbox.Queue[letter], workers*workers), bells: make([]mailbox.Bell, workers),
		arenas: make([]*buf.Arena, workers), rings: make([]ring.Socket, workers), gauges: make([]gauge, workers),
	}
	for i := range t.queues {
		if i/workers != i%workers {
			t.queues[i] = mailbox.New[letter](limits.Letters)
		}
	}
	return t
}

// peer is another worker as this one sees it.
type peer struct {
	number int
	post   *Post
	out    *mailbox.Queue[letter]
	in     *mailbox.Queue[letter]
	loans  loans
	lent   int          // bytes of replies that it is not done with
	later  []letter     // that found no room
	short  []ring.Token // pipes that wait for room, or for less to be lent
	lines  []ring.Token // by the index of its far pipe; 0 where there is none
	rouse  bool         // it has to be rung if it sleeps
	writes *bool        // Worker.writes
	due    end          // stands for what it owes; see expectation
}

// meet makes the others known to a worker.
func (w *Worker) meet() {
	t := w.Post
	if t == nil {
		return
	}
	t.arenas[w.Number], t.rings[w.Number] = w.Arena, w.Ring.Bell()
	w.placer = newPlacer(t.workers)
	w.peers = make([]peer, t.workers)
	for i := range w.peers {
		w.peers[i].number = i
		if i == w.Number {
			continue
		}
		w.peers[i] = peer{
			number: i, post: t, writes: &w.writes, out: t.queues[w.Number*t.workers+i], in: t.queues[i*t.workers+w.Number],
		}
		w.others = append(w.others, &w.peers[i])
	}
}

// loans are references of blocks that are lent, oldest first.
type loans struct {
	list  []loan
	first int
}

type loan struct {
	until uint64 // the position up to which the peer has to be done
	block buf.Block
	bytes uint32 // that count as lent replies
}

// any says that something is lent.
func (q *loans) any() bool { return q.first < len(q.list) }

func (q *loans) add(l loan) {
	if q.first > 64 && 2*q.first > len(q.list) {
		q.list = append(q.list[:0], q.list[q.first:]...)
		q.first = 0
	}
	q.list = append(q.list, l)
}

// settle takes back what the peer is done with.
func (w *Worker) settle(p *peer) {
	q := &p.loans
	if !q.any() {
		return
	}
	for taken := p.out.Taken(); q.any() && q.list[q.first].until <= taken; q.first++ {
		l := &q.list[q.first]
		p.lent -= int(l.bytes)
		w.Arena.Release(l.block)
	}
	if q.first == len(q.list) {
		q.list, q.first = q.list[:0], 0
	}
}

// mayLend says that a letter with bytes can be written.
func (p *peer) mayLend() bool { return len(p.later) == 0 && p.out.HasRoom(p.post.limits.kept()+1) }

// lend writes a letter whose bytes are lent, and takes over their reference. There must be room.
func (p *peer) lend(l letter) {
	*p.writes = true
	*p.out.Put() = l
	owed := uint32(0)
	switch l.kind {
	case letterRequests:
		// Whether the keeper has to be rung depends on what is before them; see handed.
	case letterReplies:
		owed = l.data.Len
		p.lent += int(owed)
		p.rouse = true
	default:
		p.rouse = true
	}
	if l.data.Block != buf.NoBlock {
		p.loans.add(loan{until: p.out.Position(), block: l.data.Block, bytes: owed})
	}
}

// tell writes a letter that must not be left out. It takes over the reference of its bytes.
func (p *peer) tell(l letter) {
	if len(p.later) > 0 || !p.out.HasRoom(1) {
		*p.writes = true
		p.later = append(p.later, l)
		return
	}
	p.lend(l)
}

// say is tell for a letter without bytes.
func (p *peer) say(kind letterKind, token ring.Token) {
	p.tell(letter{kind: kind, token: token, data: buf.Slice{Block: buf.NoBlock}})
}

// tellWhy is tell for a letter with a reason. Without memory for it there is none.
func (w *Worker) tellWhy(p *peer, kind letterKind, token ring.Token, n uint32, why string) {
	l := letter{kind: kind, token: token, n: n, data: buf.Slice{Block: buf.NoBlock}}
	if why != "" {
		if data, ok := w.Arena.Copy([]byte(why)); ok {
			l.data = data
		}
	}
	p.tell(l)
}

// why is the reason in a letter.
func (p *peer) why(l *letter) string {
	if l.data.IsEmpty() {
		return "the connection was given up"
	}
	return string(p.bytes(l))
}

// bytes are those of a letter that was received. They are the peer's, and lent.
func (p *peer) bytes(l *letter) []byte { return p.post.arenas[p.number].Bytes(l.data) }

// wait lists a pipe for the time when there is room for letters, and less is lent.
func (p *peer) wait(b *backend) {
	if !b.short {
		*p.writes, b.short = true, true
		p.short = append(p.short, b.end.token)
	}
}

// mayGoOn says that those who wait can go on.
func (p *peer) mayGoOn() bool {
	return len(p.short) > 0 && p.mayLend() && p.lent <= p.post.limits.LentBytes/2 || len(p.later) > 0 && p.out.HasRoom(1)
}

// receiveLetters takes back what was lent, goes on with what had no room, and serves what
// the others have written. To take a letter never needs room for another one: so workers
// whose queues are full cannot wait for each other for ever.
func (w *Worker) receiveLetters() {
	notes := w.Post.bells[w.Number].Notes()
	if !w.writes && notes == w.notes {
		return
	}
	w.notes = notes
	for _, p := range w.others {
		w.settle(p)
		if p.mayGoOn() {
			w.goOnWith(p)
		}
		if !p.in.Waiting() {
			continue
		}
		w.due.heard(&p.due)
		p.in.Look()
		for l := p.in.Take(); l != nil; l = p.in.Take() {
			w.read(p, l)
		}
		if p.in.Done() {
			w.ring(p)
		}
	}
}

// read serves a letter.
func (w *Worker) read(p *peer, l *letter) {
	switch l.kind {
	case letterOpen:
		w.openLine(p, l)
	case letterRequests:
		w.relay(p, l)
	case letterPause, letterResume:
		w.pauseLine(p, l, l.kind == letterPause)
	case letterDetach:
		w.detachLine(p, l)
	case letterRetire:
		w.retireLine(p, l)
	case letterClose, letterDrop:
		w.closeLine(p, l)
	case letterReplies:
		w.farReplies(p, l)
	case letterHurry:
		w.farHurried(l)
	case letterDetached:
		w.farDetached(l)
	case letterEnded, letterRefused:
		w.farEnded(p, l)
	case letterAsk:
		w.visited(p, l)
	case letterTold:
		w.told(l)
	case letterClient:
		w.serve(ring.Socket(l.n), uint64(l.token))
	default:
		invariant.Assert(false, "worker: a letter of no known kind")
	}
}

// goOnWith writes what had no room, and goes on with the pipes that have waited for it.
func (w *Worker) goOnWith(p *peer) {
	k := 0
	for ; k < len(p.later) && p.out.HasRoom(1); k++ {
		p.lend(p.later[k])
	}
	p.later = append(p.later[:0], p.later[k:]...)
	if len(p.later) > 0 {
		return
	}
	w.waited = append(w.waited[:0], p.short...)
	p.short = p.short[:0]
	for _, t := range w.waited {
		b := w.pipes.get(t)
		if b == nil {
			continue
		}
		b.short = false
		switch {
		case b.far != nil:
			w.touchPipe(b)
		case b.stopped == stoppedFull:
			w.readOnAgain(b)
		}
	}
}

// sendLetters shows the others what was written to them in this turn, and rings those that
// sleep.
func (w *Worker) sendLetters() {
	if !w.writes {
		return
	}
	w.writes = false
	for _, p := range w.others {
		if last := p.out.Last(); last != nil && last.kind == letterReplies {
			w.due.expect(&p.due) // its clients are likely to ask again
		}
		bell := &p.post.bells[p.number]
		if p.out.Publish() {
			bell.Note()
		}
		if p.rouse && bell.Needed() {
			w.ring(p)
		}
		p.rouse = false
		w.writes = w.writes || p.loans.any() || len(p.short)+len(p.later) > 0
	}
}

// ring wakes a peer.
func (w *Worker) ring(p *peer) {
	w.bells = append(w.bells, ring.Op{Kind: ring.OpBell, Socket: p.post.rings[p.number]})
}

// sleep announces a wait, and says that it must not block because there is something to do.
// The others ring when they see that it is announced; what they did before is seen here.
func (w *Worker) sleep() (busy bool) {
	w.Post.bells[w.Number].Sleep()
	return w.hasLetters() || w.writes && w.roomCame()
}

// roomCame says that something can go on that had no room. Who makes room is asked to ring
// first, so that it is seen here or rings.
func (w *Worker) roomCame() bool {
	for _, p := range w.others {
		if len(p.short)+len(p.later) == 0 {
			continue
		}
		p.out.Short()
		w.settle(p)
		if p.mayGoOn() {
			return true
		}
	}
	return false
}

// hasLetters says that another worker has written.
func (w *Worker) hasLetters() bool {
	return len(w.others) > 0 && w.Post.bells[w.Number].Notes() != w.notes
}

// lentBlocks counts the references that others are not done with.
func (w *Worker) lentBlocks() (n int) {
	for _, p := range w.others {
		n += len(p.loans.list) - p.loans.first
	}
	return n
}
