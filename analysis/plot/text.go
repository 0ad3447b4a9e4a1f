package plot

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Text draws with characters: o a point, O several, x one that was left out. A single curve is drawn with *, and
// with . where it leaves the measured range; of several each has a letter, small beyond the range. Lines have at
// most columns characters.
func (p *Plot) Text(columns, rows int) string {
	ax, ay, _ := p.layout()
	const margin = 9 // labels of the vertical axis
	w, h := max(columns-margin-2, 20), max(rows, 6)
	c := newCanvas(ax, ay, w, h)
	for i, one := range p.Curves {
		inside, beyond := 'A'+rune(i%26), 'a'+rune(i%26)
		if len(p.Curves) == 1 {
			inside, beyond = '*', '.'
		}
		c.curve(one, inside, beyond)
	}
	for _, q := range p.points() {
		c.point(q)
	}
	var b strings.Builder
	b.WriteString(fit(clean(p.Y+" against "+p.X), columns) + "\n")
	marks := map[int]string{}
	for _, v := range ay.ticks(h / 3) {
		if row, _, ok := c.place(ax.low, v); ok {
			marks[row] = label(v)
		}
	}
	for i, row := range c.grid {
		mark := marks[i]
		b.WriteString(strings.TrimRight(strings.Repeat(" ", max(margin-utf8.RuneCountInString(mark), 0))+mark+" │"+string(row), " ") + "\n")
	}
	b.WriteString(strings.Repeat(" ", margin+1) + "└" + strings.Repeat("─", w) + "\n")
	b.WriteString(strings.TrimRight(strings.Repeat(" ", margin+2)+ax.line(w), " ") + "\n")
	for i, c := range p.Curves {
		if c.Name != "" {
			mark := string('A' + rune(i%26))
			if len(p.Curves) == 1 {
				mark = "*"
			}
			b.WriteString(fit(strings.Repeat(" ", margin+2)+mark+"  "+clean(c.Name), columns) + "\n")
		}
	}
	return b.String()
}

// canvas is what axes span, in characters.
type canvas struct {
	x, y axis
	grid [][]rune
}

func newCanvas(x, y axis, columns, rows int) *canvas {
	c := &canvas{x, y, make([][]rune, rows)}
	for i := range c.grid {
		c.grid[i] = []rune(strings.Repeat(" ", columns))
	}
	return c
}

// place is the character at a point, if there is one.
func (c *canvas) place(x, y float64) (row, column int, ok bool) {
	if c.y.log && y <= 0 || !usable(y) {
		return 0, 0, false
	}
	tx, ty := c.x.at(x), c.y.at(y)
	if !(tx >= 0 && tx <= 1 && ty >= 0 && ty <= 1) {
		return 0, 0, false
	}
	rows, columns := len(c.grid), len(c.grid[0])
	return rows - 1 - int(math.Round(ty*float64(rows-1))), int(math.Round(tx * float64(columns-1))), true
}

func (c *canvas) curve(one Curve, inside, beyond rune) {
	columns := len(c.grid[0])
	for k := range columns {
		x := c.x.value(float64(k) / float64(columns-1))
		y, _, _ := one.At(x)
		row, column, ok := c.place(x, y)
		if !ok {
			continue
		}
		c.grid[row][column] = inside
		if x < one.From*(1-1e-9) || x > one.To*(1+1e-9) {
			c.grid[row][column] = beyond
		}
	}
}

func (c *canvas) point(q Point) {
	row, column, ok := c.place(q.X, q.Y)
	if !ok {
		return
	}
	switch at := &c.grid[row][column]; {
	case q.Out:
		*at = 'x'
	case *at == 'o' || *at == 'O':
		*at = 'O'
	default:
		*at = 'o'
	}
}

// line is the labels below the horizontal axis, as many as there is room for.
func (a axis) line(columns int) string {
	line := []rune(strings.Repeat(" ", columns))
	for _, v := range a.ticks(columns / 10) {
		text := []rune(label(v))
		at := int(math.Round(a.at(v)*float64(columns-1))) - len(text)/2
		at = min(max(at, 0), columns-len(text))
		around := string(line[max(at-1, 0):min(at+len(text)+1, columns)])
		if strings.TrimSpace(around) == "" {
			copy(line[at:], text)
		}
	}
	return string(line)
}

func fit(s string, columns int) string {
	if runes := []rune(s); len(runes) > columns {
		return string(runes[:columns-1]) + "…"
	}
	return s
}
