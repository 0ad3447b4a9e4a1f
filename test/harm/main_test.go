// Package harm tests that Marple does no harm to the programs it measures, whatever they are and however they end.
package harm

import (
	"testing"

	"marple/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
