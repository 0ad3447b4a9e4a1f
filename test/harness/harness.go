// Package harness is what the tests of whole programs share.
package harness

import (
	"os"
	"testing"
)

// Missing skips a test for what is not installed; a machine that calls itself CI has to have it.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "1" {
		t.Fatalf("%s is not installed, and CI=1", what)
	}
	t.Skipf("%s is not installed", what)
}

// Long tells whether what is random is to be tried often, and programs are to be large: make test-long.
func Long() bool { return os.Getenv("MARPLE_TEST_LONG") == "1" }
