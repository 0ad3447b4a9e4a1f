// Package parts tests what Marple says of programs made of components, and of models of them.
package parts

import (
	"testing"

	"marple/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
