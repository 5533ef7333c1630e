// Package clients runs client libraries against the proxy as their users do. It is a
// module of its own, so that nobody who builds the proxy downloads them. Its go.mod names
// the proxy as a tool, which the harness builds; `go mod tidy` brings it up to date with the
// root's dependencies. Clients for Node.js are in node, where `make node` installs them.
package clients
