package layout

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers are the packages of the program, the lowest layer first. A package imports only
// packages of lower layers, and of its own only those named in siblings. The drawing in
// src/README.md says the same.
var layers = [][]string{
	0: {"asm/cpu", "asm/crc16", "src/buf", "src/invariant", "src/version"},
	1: {"src/glob", "src/mailbox", "src/resp", "src/ring", "src/script", "src/slot", "src/timer"},
	2: {"src/command", "src/conf", "src/stats", "src/topology"},
	3: {"src/fanout", "src/pipe", "src/redirect", "src/window"},
	4: {"src/admin", "src/session"},
	5: {"src/worker"},
	6: {"src/proxy", "src/refresher", "src/sys"},
	7: {"cmd/mithril"},
}

// machineLayers are those in which everything is a pure machine or a value.
const machineLayers = 5

// siblings are the imports within a layer. The machines of layer 3 have none: what
// connects them is above them.
var siblings = map[string][]string{
	"asm/crc16": {"asm/cpu"},
	"src/buf":   {"src/invariant"},
	"src/conf":  {"src/command"},
	"src/proxy": {"src/refresher", "src/sys"},
}

const module = "mithril/"

// layerOf answers a package's layer, -1 for what is not part of the program.
func layerOf(dir string) int {
	return slices.IndexFunc(layers, func(packages []string) bool { return slices.Contains(packages, dir) })
}

// isProgram says that the package is part of what is shipped.
func isProgram(dir string) bool {
	top, _, _ := strings.Cut(dir, "/")
	return top == "src" || top == "asm" || top == "cmd"
}

var layersRule = rule{
	name:    "a package imports only lower layers",
	applies: func(s *source) bool { return isProgram(s.dir) && !s.isTest() },
	check: func(s *source) (complaints []string) {
		own := layerOf(s.dir)
		if own < 0 {
			return []string{s.complain(s.file.Name, "package %s is in no layer: add it to the table and to src/README.md", s.dir)}
		}
		for _, spec := range s.file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			dir, ours := strings.CutPrefix(name, module)
			if !ours {
				continue
			}
			other := layerOf(dir)
			if other < 0 || other > own || other == own && !slices.Contains(siblings[s.dir], dir) {
				complaints = append(complaints, s.complain(spec, "%s of layer %d imports %s of layer %d", s.dir, own, dir, other))
			}
		}
		return complaints
	},
	bad: []example{
		{"src/pipe/x.go", `package pipe; import "mithril/src/redirect"`},
		{"src/worker/x.go", `package worker; import "mithril/src/sys"`},
		{"src/session/x.go", `package session; import "mithril/src/admin"`},
		{"src/proxy/x.go", `package proxy; import "mithril/tools/testbed"`},
		{"src/stray/x.go", `package stray`},
	},
}

// TestLayersExist finds packages of the table that are gone.
func TestLayersExist(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		seen[s.dir] = true
	}
	for _, packages := range layers {
		for _, dir := range packages {
			if !seen[dir] {
				t.Errorf("%s has no Go files", dir)
			}
		}
	}
	for dir, others := range siblings {
		for _, other := range append(others, dir) {
			if layerOf(dir) < 0 || layerOf(other) != layerOf(dir) {
				t.Errorf("%s and %s are not of one layer", dir, other)
			}
		}
	}
	if siblingsOf := layers[3]; slices.ContainsFunc(siblingsOf, func(dir string) bool { return siblings[dir] != nil }) {
		t.Errorf("a machine of %v imports another", siblingsOf)
	}
}

// TestLayersAreDrawn compares the table with the drawing in src/README.md, whose lines are
// "L3  pipe        what it is", the layer's name only on its first line.
func TestLayersAreDrawn(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "src/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	drawn := readDrawing(string(text))
	for layer, packages := range layers {
		if !slices.Equal(drawn[layer], packages) {
			t.Errorf("src/README.md draws layer %d as %v, the table says %v", layer, drawn[layer], packages)
		}
	}
}

func readDrawing(text string) map[int][]string {
	drawn := map[int][]string{}
	layer := -1
	for line := range strings.Lines(text) {
		rest, indented := strings.CutPrefix(line, "    ")
		if !indented {
			layer = -1
			continue
		}
		if len(rest) > 2 && rest[0] == 'L' && rest[1] >= '0' && rest[1] <= '9' {
			layer, rest = int(rest[1]-'0'), rest[2:]
		}
		if layer < 0 {
			continue
		}
		names, _, _ := strings.Cut(strings.TrimSpace(rest), "  ")
		for name := range strings.SplitSeq(names, ", ") {
			if !strings.Contains(name, "/") {
				name = "src/" + name
			}
			drawn[layer] = append(drawn[layer], name)
		}
	}
	for _, packages := range drawn {
		slices.Sort(packages)
	}
	return drawn
}
