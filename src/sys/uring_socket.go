package sys

import "mithril/src/ring"

// uringSocket is a record with what only this engine needs.
type uringSocket struct {
	record
	submission uint32 // number of the last submission that names the socket
	lasting    action // what armToken belongs to: actAccept or actRecv
}

// userData of a submission names the operation, the socket and its generation:
//
//	63      56 55                32 31                 0
//	| action | generation          | descriptor          |
type userData uint64

// action is the operation in a userData.
type action uint8

const (
	actAccept action = iota + 1
	actConnect
	actRecv
	actSend
	actCancel
	actClose
	actWake
	actCancelAll
	actBell // of the engine that rings
	actRung // of the one that is rung
)

func makeUserData(a action, generation uint32, fd ring.Socket) userData {
	return userData(a)<<56 | userData(generation&ring.GenerationMask)<<32 | userData(uint32(fd))
}

func (u userData) action() action      { return action(u >> 56) }
func (u userData) generation() uint32  { return uint32(u>>32) & ring.GenerationMask }
func (u userData) socket() ring.Socket { return ring.Socket(uint32(u)) }
