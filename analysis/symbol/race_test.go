//go:build race

package symbol

// The race detector makes code several times slower.
const slowdown = 20
