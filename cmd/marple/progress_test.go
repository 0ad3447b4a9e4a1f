package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestProgress(t *testing.T) {
	seconds := func(p *progress, list ...float64) {
		for _, s := range list {
			p.at(time.Duration(s * float64(time.Second)))
		}
	}
	var out bytes.Buffer
	p := &progress{out: &out, doing: "fit", next: patience}
	seconds(p, 0.5, 1.9, 2, 3, 4, 7.9, 8)
	assert.Equal(t, "marple: fit (2s)\nmarple: fit (4s)\nmarple: fit (8s)\n", out.String(), "in a file, rarely")

	out.Reset()
	p = &progress{out: &out, terminal: true, doing: "fit", next: patience}
	seconds(p, 1, 2, 2.25, 3)
	p.doing = "3 of 4 responses modelled"
	seconds(p, 4)
	assert.Equal(t, "\rmarple: fit (2s)\x1b[K\rmarple: fit (3s)\x1b[K\rmarple: 3 of 4 responses modelled (4s)\x1b[K", out.String())

	out.Reset()
	var printed bytes.Buffer
	_, err := ending{&printed, p}.Write([]byte("result\n"))
	assert.NoError(t, err)
	seconds(p, 5, 6, 100)
	assert.Equal(t, "\r\x1b[K", out.String(), "it goes away before something is printed, and stays away")
	assert.Equal(t, "result\n", printed.String())
}
