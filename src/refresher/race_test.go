//go:build race

package refresher

// bigMapFetches is small here because the race detector makes the parser ten times slower.
const bigMapFetches = 10
