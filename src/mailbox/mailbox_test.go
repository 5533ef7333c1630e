package mailbox

import (
	"runtime"
	"sync"
	"testing"
)

// TestOrderAndBounds: values come in order, no sooner than published, and never more than
// fit.
func TestOrderAndBounds(t *testing.T) {
	q := New[int](4)
	for i := range 4 {
		*q.Put() = i
	}
	if q.Room() != 0 || q.Position() != 4 {
		t.Fatalf("room %d, position %d", q.Room(), q.Position())
	}
	if q.Look(); q.Take() != nil || q.Waiting() {
		t.Fatal("taken before it was published")
	}
	if *q.Last() != 3 || !q.Publish() || q.Publish() || q.Last() != nil {
		t.Fatal("publishing")
	}
	q.Look()
	for i := range 3 {
		if v := q.Take(); v == nil || *v != i {
			t.Fatalf("value %d is %v", i, v)
		}
	}
	if q.Taken() != 0 || q.Room() != 0 {
		t.Fatal("given back before Done")
	}
	if q.Done() {
		t.Fatal("a producer is to be rung that does not wait")
	}
	if q.Taken() != 3 || q.Room() != 3 {
		t.Fatalf("taken %d, room %d", q.Taken(), q.Room())
	}
	*q.Put() = 4
	q.Publish()
	if v := q.Take(); *v != 3 {
		t.Fatalf("then %d", *v)
	}
	if q.Take() != nil {
		t.Fatal("taken without a look")
	}
	q.Short()
	if !q.Done() {
		t.Fatal("a producer that waits for room is not rung")
	}
	if q.Look(); *q.Take() != 4 || q.Done() {
		t.Fatal("it is rung once")
	}
}

// TestPutIntoAFullQueue is a mistake of the caller.
func TestPutIntoAFullQueue(t *testing.T) {
	q := New[int](2)
	q.Put()
	q.Put()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	q.Put()
}

// TestNobodySleepsThrough: a consumer that goes to sleep by the rules is woken for every
// value, and gets each once, in order, with what it names.
func TestNobodySleepsThrough(t *testing.T) {
	const values = 200_000
	type message struct{ number, square int }
	q := New[message](8)
	var bell Bell
	wake := make(chan struct{}, 1)
	ring := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	room := make(chan struct{}, 1)
	var work sync.WaitGroup
	work.Go(func() {
		for i := 0; i < values; {
			if q.Room() == 0 {
				if q.Short(); q.Room() == 0 {
					<-room
				}
				continue
			}
			for k := 0; k <= i%3 && i < values && q.Room() > 0; k++ {
				*q.Put() = message{i, i * i}
				i++
			}
			if q.Publish() {
				if bell.Note(); bell.Needed() {
					ring()
				}
			}
			if i%7 == 0 {
				runtime.Gosched()
			}
		}
	})
	noted := bell.Notes()
	for next := 0; next < values; {
		bell.Sleep()
		if bell.Notes() == noted {
			<-wake
		}
		bell.Awake()
		noted = bell.Notes()
		q.Look()
		for v := q.Take(); v != nil; v = q.Take() {
			if v.number != next || v.square != next*next {
				t.Fatalf("%+v in place of %d", *v, next)
			}
			next++
		}
		if q.Done() {
			select {
			case room <- struct{}{}:
			default:
			}
		}
	}
	work.Wait()
}
