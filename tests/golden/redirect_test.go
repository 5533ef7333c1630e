package golden

import (
	"testing"
	"time"

	"mithril/src/redirect"
)

func TestRedirect(t *testing.T) {
	playAll(t, "redirect", func(*testing.T) map[string]Verb {
		return map[string]Verb{"read": readRedirect, "decide": decide, "tryagain": tryAgain}
	})
}

// readRedirect tells what each input line, a reply of a node, asks for.
func readRedirect(d *Directive) {
	for _, reply := range d.Input() {
		kind := map[redirect.Kind]string{redirect.Moved: "moved", redirect.Ask: "ask"}[redirect.Classify(reply)]
		if redirect.Classify(reply) == redirect.NoScript {
			d.Say("no script")
		} else if kind == "" {
			d.Say("no redirect")
		} else if target, ok := redirect.Parse(reply); !ok {
			d.Say("%s, malformed", kind)
		} else if len(target.Host) == 0 {
			d.Say("%s: slot %d, port %d of the same host", kind, target.Slot, target.Port)
		} else {
			d.Say("%s: slot %d, host %s, port %d", kind, target.Slot, Show(target.Host), target.Port)
		}
	}
}

// decide tells what becomes of a request with each redirect it gets, until it is given up.
func decide(d *Directive) {
	most, followed := d.Number("most", 7), d.Flag("followed")
	for hops := 0; ; hops++ {
		act, wait := redirect.Decide(hops, most, followed)
		switch act {
		case redirect.Resend:
			d.Say("redirect %d: sent again at once", hops+1)
		case redirect.Wait:
			d.Say("redirect %d: sent again after %v", hops+1, time.Duration(wait))
		case redirect.TryAgain:
			d.Say("redirect %d: TRYAGAIN", hops+1)
			return
		}
	}
}

// tryAgain tells the error of a request that was redirected too often.
func tryAgain(d *Directive) { d.Say("%s", Show(redirect.AppendTryAgain(nil, uint16(d.Int())))) }
