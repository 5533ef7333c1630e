package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"mithril/tools/testbed"
)

// told is what a proxy tells of itself, in the order of toldFields; NaN where it tells nothing.
type told [len(toldFields)]float64

// toldFields are counts of INFO.
var toldFields = [...]string{
	nodeSends:  "backend_sends",
	handedOver: "handed_over",
}

const (
	nodeSends  = iota // to nodes only, other than those that the kernel counts
	handedOver        // requests that took another worker's connection
)

// toldNothing is told of an arm that has no INFO of Mithril's.
func toldNothing() (t told) {
	for i := range t {
		t[i] = math.NaN()
	}
	return t
}

// ask returns the counts so far.
func (a *arm) ask() (told, error) {
	t := toldNothing()
	if !a.tells {
		return t, nil
	}
	if a.info == nil {
		conn, err := testbed.Dial(a.addr)
		if err != nil {
			return t, err
		}
		a.info = conn
	}
	reply, err := a.info.Do("INFO")
	if err != nil {
		return t, fmt.Errorf("INFO: %w", err)
	}
	for line := range strings.Lines(fmt.Sprint(reply)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		for i, field := range toldFields {
			if name != field {
				continue
			}
			if t[i], err = strconv.ParseFloat(value, 64); err != nil {
				return t, fmt.Errorf("INFO: %w", err)
			}
		}
	}
	return t, nil
}

// since is what was counted between two points.
func (t told) since(before told) told {
	for i := range t {
		t[i] -= before[i]
	}
	return t
}
