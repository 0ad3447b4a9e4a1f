// Package e2e tests the rest of Marple as it is used: that every function is counted, reports, exports and adapters.
package e2e

import (
	"testing"

	"marple/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
