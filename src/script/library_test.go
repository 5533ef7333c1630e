package script

import (
	"sync"
	"testing"
)

func TestContract_SCRIPT1_LibraryIsSharedAndForgets(t *testing.T) {
	var l Library
	if _, ok := l.AppendBody(nil, []byte(shaOf("return 1"))); ok {
		t.Error("an empty library knows a body")
	}
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for range 1000 {
				l.Remember([]byte("return 1"))
				if body, ok := l.AppendBody([]byte("x"), []byte(shaOf("return 1"))); !ok || string(body) != "xreturn 1" {
					t.Errorf("%q, %v", body, ok)
					return
				}
			}
		})
	}
	asking.Wait()
	l.Forget()
	if _, ok := l.AppendBody(nil, []byte(shaOf("return 1"))); ok {
		t.Error("a body is known behind Forget")
	}
}

func TestRememberTellsNews(t *testing.T) {
	var m Memory
	long := make([]byte, BodyBytesMax+1)
	for i, c := range []struct {
		body []byte
		news bool
	}{{[]byte("return 1"), true}, {[]byte("return 1"), false}, {[]byte("return 2"), true}, {long, false}} {
		if news := m.Remember(c.body); news != c.news {
			t.Errorf("%d: news %v, want %v", i, news, c.news)
		}
	}
}
