//go:build !race

package refresher

const bigMapFetches = 100
