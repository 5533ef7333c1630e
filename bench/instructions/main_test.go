package main

import (
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCountsAreSteadyAndPerRequest(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "instructions")
	if output, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	c, err := newCounter(t.Context(), binary)
	if err != nil {
		t.Fatal(err)
	}
	single, err := c.perRequest(t.Context(), "GET", 1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	batched, err := c.perRequest(t.Context(), "GETx16", 16, 1000)
	if err != nil {
		t.Fatal(err)
	}
	// A short count is less steady than spreadMax asks for; it only must not be noise.
	if single.median < 500 || single.median > 50000 || single.spread > 0.1 {
		t.Errorf("a GET takes %.0f instructions, with a spread of %.3f", single.median, single.spread)
	}
	if batched.median < single.median/16 || batched.median > single.median {
		t.Errorf("a GET of 16 takes %.0f instructions, alone %.0f", batched.median, single.median)
	}
	_, err = c.perRequest(t.Context(), "NONE", 1, 1)
	if err == nil || !strings.Contains(err.Error(), `there is no load "NONE"`) {
		t.Errorf("an unknown load: error %v", err)
	}
}

func TestSteadyIsTheMedianWithItsSpread(t *testing.T) {
	got := steadyOf([]float64{102, 100, 99})
	if got.median != 100 || math.Abs(got.spread-0.03) > 1e-9 {
		t.Errorf("of 102, 100 and 99: %v", got)
	}
}
