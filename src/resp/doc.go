// Package resp frames and writes the Redis serialization protocol, versions 2 and 3.
package resp
