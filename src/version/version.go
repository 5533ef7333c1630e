// Package version holds the version of the program.
package version

// Number is the version as INFO and --version show it.
const Number = "0.1.0"
