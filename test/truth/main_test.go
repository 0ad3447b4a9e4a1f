// Package truth tests that what Marple says of a program is so: waiting times, paths, causes and gains.
package truth

import (
	"testing"

	"marple/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
