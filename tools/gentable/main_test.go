package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"mithril/src/command"
)

const dataDir = "../../src/command/data"

func TestContract_ROUTE2_generatedFilesAreCurrent(t *testing.T) {
	for _, v := range command.Versions {
		t.Run(v.String(), func(t *testing.T) {
			fresh := t.TempDir()
			if err := generate(t.Context(), fresh, v); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{v.RowsFile(), v.DocsFile()} {
				want, err := os.ReadFile(filepath.Join(fresh, name))
				if err != nil {
					t.Fatal(err)
				}
				have, err := os.ReadFile(filepath.Join(dataDir, name))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(have, want) {
					t.Errorf("%s differs from what the server says today: run go run ./tools/gentable and review the difference", name)
				}
			}
		})
	}
}

// data/ holds what Versions lists and nothing else.
func TestDataDirectory(t *testing.T) {
	wanted := map[string]bool{".gitattributes": true}
	for _, v := range command.Versions {
		wanted[v.RowsFile()], wanted[v.DocsFile()] = true, true
	}
	entries, err := os.ReadDir(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !wanted[entry.Name()] {
			t.Errorf("%s is not a file of any version", entry.Name())
		}
	}
	if len(entries) != len(wanted) {
		t.Errorf("%d files, want %d", len(entries), len(wanted))
	}
}
