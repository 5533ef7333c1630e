package differential

import (
	"testing"

	"mithril/tests/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
