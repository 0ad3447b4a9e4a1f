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
	grid := make([][]rune, h)
	for i := range grid {
		grid[i] = []rune(strings.Repeat(" ", w))
	}
	place := func(x, y float64) (row, column int, ok bool) {
		if ay.log && y <= 0 || !usable(y) {
			return 0, 0, false
		}
		tx, ty := ax.at(x), ay.at(y)
		if !(tx >= 0 && tx <= 1 && ty >= 0 && ty <= 1) {
			return 0, 0, false
		}
		return h - 1 - int(math.Round(ty*float64(h-1))), int(math.Round(tx * float64(w-1))), true
	}
	for i, c := range p.Curves {
		for k := range w {
			x := ax.value(float64(k) / float64(w-1))
			y, _, _ := c.At(x)
			if row, column, ok := place(x, y); ok {
				inside, beyond := 'A'+rune(i%26), 'a'+rune(i%26)
				if len(p.Curves) == 1 {
					inside, beyond = '*', '.'
				}
				grid[row][column] = inside
				if x < c.From*(1-1e-9) || x > c.To*(1+1e-9) {
					grid[row][column] = beyond
				}
			}
		}
	}
	for _, q := range p.points() {
		row, column, ok := place(q.X, q.Y)
		if !ok {
			continue
		}
		switch at := &grid[row][column]; {
		case q.Out:
			*at = 'x'
		case *at == 'o' || *at == 'O':
			*at = 'O'
		default:
			*at = 'o'
		}
	}
	var b strings.Builder
	b.WriteString(fit(clean(p.Y+" against "+p.X), columns) + "\n")
	marks := map[int]string{}
	for _, v := range ay.ticks(h / 3) {
		if row, _, ok := place(ax.low, v); ok {
			marks[row] = label(v)
		}
	}
	for i, row := range grid {
		mark := marks[i]
		b.WriteString(strings.TrimRight(strings.Repeat(" ", max(margin-utf8.RuneCountInString(mark), 0))+mark+" │"+string(row), " ") + "\n")
	}
	b.WriteString(strings.Repeat(" ", margin+1) + "└" + strings.Repeat("─", w) + "\n")
	line := []rune(strings.Repeat(" ", w))
	for _, v := range ax.ticks(w / 10) {
		text := []rune(label(v))
		at := int(math.Round(ax.at(v)*float64(w-1))) - len(text)/2
		at = min(max(at, 0), w-len(text))
		free := true
		for k := max(at-1, 0); k < min(at+len(text)+1, w); k++ {
			free = free && line[k] == ' '
		}
		if free {
			copy(line[at:], text)
		}
	}
	b.WriteString(strings.TrimRight(strings.Repeat(" ", margin+2)+string(line), " ") + "\n")
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

func fit(s string, columns int) string {
	if runes := []rune(s); len(runes) > columns {
		return string(runes[:columns-1]) + "…"
	}
	return s
}
