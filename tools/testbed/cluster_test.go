package testbed

import (
	"context"
	"testing"
	"time"
)

func TestStart(t *testing.T) {
	for _, e := range Engines {
		start := time.Now()
		c, err := Start(context.Background(), Options{Engine: e})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(e, time.Since(start))
		for _, s := range c.Status() {
			t.Logf("%+v", s)
		}
		c.Stop()
	}
}
