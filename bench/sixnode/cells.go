package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mithril/bench/load/closedloop"
)

const (
	valueBytesMax = 1 << 20
	pipelineMax   = 1 << 16
	connsMax      = 60000
)

// product names cells by the flags -mixes, -pipelines, -conns and -sizes: every combination.
type product struct{ mixes, pipelines, conns, sizes string }

// custom are those flags' defaults.
var custom = product{"set+get", "1,16", "50", "64"}

// cellSets are the values of -cells. The standard cells change one thing at a time from 50 connections and 64 bytes,
// once at pipeline 1 and once at 16; the value size changes last, since a change means to set all keys anew. Those of
// sharing begin with many clients that do not pipeline: what workers can put together are their commands.
var cellSets = []struct {
	name     string
	products []product
}{
	{"quick", []product{custom}},
	{"standard", standard},
	{"sharing", slices.Concat([]product{{"set+get", "1", "400", "64"}}, standard)},
}

var standard = []product{
	{"set+get", "1", "1,10,50,200,1000", "64"},
	{"set+get", "4,16,64", "50", "64"},
	{"set,get,mget10", "1,16", "50", "64"},
	{"set+get", "1,16", "50", "1024,4096,65536"},
}

func cellSetNames() string {
	var names []string
	for _, set := range cellSets {
		names = append(names, set.name)
	}
	return strings.Join(names, ", ")
}

// cellSet returns the cells of a set.
func cellSet(name string) ([]cell, error) {
	for _, set := range cellSets {
		if set.name != name {
			continue
		}
		var cells []cell
		for _, p := range set.products {
			some, err := p.cells()
			if err != nil {
				return nil, err
			}
			cells = append(cells, some...)
		}
		return cells, nil
	}
	return nil, fmt.Errorf("-cells: %q is none of %s", name, cellSetNames())
}

// cells makes every combination.
func (p product) cells() ([]cell, error) {
	depths, err := parseNumbers("-pipelines", p.pipelines, pipelineMax)
	if err != nil {
		return nil, err
	}
	connections, err := parseNumbers("-conns", p.conns, connsMax)
	if err != nil {
		return nil, err
	}
	bytes, err := parseNumbers("-sizes", p.sizes, valueBytesMax)
	if err != nil {
		return nil, err
	}
	var cells []cell
	for _, valueBytes := range bytes {
		for _, name := range strings.Split(p.mixes, ",") {
			mix, err := closedloop.ParseMix(strings.ReplaceAll(name, "+", ","))
			if err != nil {
				return nil, fmt.Errorf("-mixes: %w", err)
			}
			for _, c := range connections {
				for _, depth := range depths {
					cells = append(cells, cell{mix, depth, c, valueBytes})
				}
			}
		}
	}
	return cells, nil
}

func parseNumbers(name, text string, max int) ([]int, error) {
	var numbers []int
	for _, part := range strings.Split(text, ",") {
		number, err := strconv.Atoi(part)
		if err != nil || number < 1 || number > max {
			return nil, fmt.Errorf("%s: %q is not a number from 1 to %d", name, part, max)
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}
