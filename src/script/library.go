package script

import "sync"

// Library is the bodies that all workers of the process have seen. Its lock is taken for what
// is rare: a body that is new to a worker, a script that a node lacks, SCRIPT FLUSH. The zero
// Library is empty.
type Library struct {
	mu     sync.Mutex
	memory Memory
}

// Remember keeps a body, unless it is too long.
func (l *Library) Remember(body []byte) {
	l.mu.Lock()
	l.memory.Remember(body)
	l.mu.Unlock()
}

// AppendBody is Memory.Body, appended to dst.
func (l *Library) AppendBody(dst, sha []byte) (body []byte, ok bool) {
	l.mu.Lock()
	body, ok = l.memory.Body(sha)
	dst = append(dst, body...)
	l.mu.Unlock()
	return dst, ok
}

// Forget forgets all bodies.
func (l *Library) Forget() {
	l.mu.Lock()
	l.memory.Forget()
	l.mu.Unlock()
}
