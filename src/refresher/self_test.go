package refresher

import "testing"

// A proxy that is named as its own node would send every request to itself for ever.
func TestTheProxyIsNoNodeOfItsOwn(t *testing.T) {
	t.Parallel()
	const own = "0123456789012345678901234567890123456789"
	self := newFakeNode(t)
	self.serveMap(3, self.whole("a"))
	self.script("INFO SERVER", bulk("# Server\r\nredis_version:7.0.15\r\nrun_id:"+own+"\r\n"))
	r := start(t, Options{Bootstrap: []string{self.addr}, RunID: own})
	r.await("a refusal", func() bool { return r.log.count("this is the proxy itself") == 1 })
	if r.Current() != nil {
		t.Error("the proxy's own map is published")
	}

	other := start(t, Options{Bootstrap: []string{self.addr}, RunID: "f" + own[1:]})
	other.awaitMap()
}
