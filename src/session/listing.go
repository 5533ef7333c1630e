package session

// marks are what a client has said of its connection that only CLIENT LIST shows.
type marks uint8

const (
	markReadOnly marks = 1 << iota // READONLY
	markNoEvict                    // CLIENT NO-EVICT ON
)

// AppendFlags appends the flags that CLIENT LIST shows, one letter each, in the order of servers; N for none.
func (s *Session) AppendFlags(dst []byte) []byte {
	before := len(dst)
	if s.state == Draining {
		dst = append(dst, 'c')
	}
	if s.marks&markReadOnly != 0 {
		dst = append(dst, 'r')
	}
	if s.marks&markNoEvict != 0 {
		dst = append(dst, 'e')
	}
	if len(dst) == before {
		dst = append(dst, 'N')
	}
	return dst
}

// Waiting tells how many bytes the replies take that the client has not got, those of Out and those that have been taken from
// it among them, and how many pieces wait besides those taken.
func (s *Session) Waiting() (bytes int64, pieces int) {
	return s.held(), len(s.out.Slices()) + int(s.window.parked)
}

// Rejected is how many requests were not accepted.
func (s *Session) Rejected() uint64 { return s.rejected }

// EachCommand tells how many requests for each command have been accepted, of those that were ever asked for.
func (env *Env) EachCommand(f func(name string, calls uint64)) {
	for id, n := range env.calls {
		if n > 0 {
			f(env.Table.Row(uint16(id)).Name, n)
		}
	}
}

// Memory is how many bytes the session refers to.
func (s *Session) Memory() int64 {
	return s.held() + int64(s.in.Bytes()) + int64(len(s.window.entries))*entryBytes/2 + int64(cap(s.name)+cap(s.libName)+cap(s.libVer))
}
