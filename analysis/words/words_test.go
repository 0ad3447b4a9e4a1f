package words

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCounted(t *testing.T) {
	const text = "on %d {rank|ranks} {it was|they were} late"
	assert.Equal(t, "on 1 rank it was late", Counted(text, 1))
	assert.Equal(t, "on 12,345 ranks they were late", Counted(text, 12345))
	assert.Equal(t, "on 18,446,744,073,709,551,615 ranks they were late", Counted(text, math.MaxUint64))
}
