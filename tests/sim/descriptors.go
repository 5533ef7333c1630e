package sim

import "mithril/src/ring"

// descriptors are the sockets of all workers: they are of one process.
type descriptors struct {
	sockets    []*socket // by number, nil where free
	clientsMax int       // connections of clients that may be open at once; 0: any number
}

// give gives a socket the lowest free number, as kernels do.
func (d *descriptors) give(s *socket) {
	for i := range d.sockets {
		if d.sockets[i] == nil {
			s.number = ring.Socket(i)
			d.sockets[i] = s
			return
		}
	}
	s.number = ring.Socket(len(d.sockets))
	d.sockets = append(d.sockets, s)
}

// take frees the number of a socket.
func (d *descriptors) take(s *socket) { d.sockets[s.number] = nil }

// get finds an open socket, nil if there is none.
func (d *descriptors) get(number ring.Socket) *socket {
	if number < 0 || int(number) >= len(d.sockets) {
		return nil
	}
	return d.sockets[number]
}

// isOpen says that the socket has not been closed.
func (s *socket) isOpen() bool { return s.ring.files.sockets[s.number] == s }

// clients counts the connections of clients that no worker has closed.
func (d *descriptors) clients() (n int) {
	for _, s := range d.sockets {
		if s != nil && s.peer.IsValid() {
			n++
		}
	}
	return n
}

// open counts what no worker has closed, without the bells, which belong to the rings.
func (d *descriptors) open() (n int) {
	for _, s := range d.sockets {
		if s != nil && !s.bell {
			n++
		}
	}
	return n
}
