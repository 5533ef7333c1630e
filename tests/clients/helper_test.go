package clients

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mithril/tests/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const (
	testTimeout = time.Minute
	bigBytes    = 8 << 20 // a value that comes in many pieces
	manyKeys    = 200     // enough that every shard has some
)

// testContext ends with the test, or after testTimeout.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// want compares a reply with what is wanted.
func want(t *testing.T, what string, got any, err error, wanted any) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(got, wanted) {
		t.Errorf("%s: %#v, %v, want %#v", what, got, err, wanted)
	}
}

// wantError wants an error with a prefix.
func wantError(t *testing.T, what string, err error, prefix string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), prefix) {
		t.Errorf("%s: error %v, want %s...", what, err, prefix)
	}
}

func sorted(list []string, err error) ([]string, error) {
	slices.Sort(list)
	return list, err
}

// awaitGone waits until a key that expires is gone.
func awaitGone(t *testing.T, exists func() (int64, error)) {
	t.Helper()
	harness.Eventually(t, testTimeout, "a key to expire", func() error {
		n, err := exists()
		if n > 0 {
			err = errors.Join(err, errors.New("it is there"))
		}
		return err
	})
}

// keysAndValues are keys of all shards.
func keysAndValues(prefix string) (keys, values []string, pairs []any) {
	for i := range manyKeys {
		keys = append(keys, fmt.Sprint(prefix, i))
		values = append(values, fmt.Sprint("value ", i))
		pairs = append(pairs, keys[i], values[i])
	}
	return keys, values, pairs
}
