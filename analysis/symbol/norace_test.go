//go:build !race

package symbol

const slowdown = 1
