package plot

import (
	"fmt"
	"html"
	"strings"
)

// Sizes of a panel in user units.
const (
	width, height            = 640.0, 400.0
	left, right, top, bottom = 72.0, 16.0, 36.0, 52.0
)

const style = `<style>
svg { font: 13px system-ui, sans-serif; color: #1c1c1c; background: #fff }
.c0 { color: #0b62a4 } .c1 { color: #c4501b } .c2 { color: #2a7d3f } .c3 { color: #7a3e9d } .c4 { color: #8a6d00 } .c5 { color: #a3195b }
text { fill: currentColor } .title { font-weight: 600 } .axis { stroke: currentColor; fill: none } .grid { stroke: currentColor; opacity: .12 }
.point { fill: currentColor; opacity: .45 } .out { fill: none; stroke: currentColor; opacity: .7 }
.curve { stroke: currentColor; fill: none; stroke-width: 2 } .beyond { stroke-dasharray: 6 5 } .band { fill: currentColor; opacity: .15 }
.key { fill: currentColor }
@media (prefers-color-scheme: dark) { svg { color: #e4e4e4; background: #17191c }
.c0 { color: #6db3f2 } .c1 { color: #ff9a66 } .c2 { color: #7fd694 } .c3 { color: #cfa0ee } .c4 { color: #e3c455 } .c5 { color: #ff8abf } }
</style>
`

// SVG draws panels one below the other into a file of its own.
func SVG(panels []*Plot) []byte {
	var b strings.Builder
	total := height * float64(max(len(panels), 1))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img">`+"\n", width, total, width, total)
	b.WriteString(style)
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(0 %g)">`+"\n", height*float64(i))
		p.panel(&b, i)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func (p *Plot) panel(b *strings.Builder, number int) {
	ax, ay, curves := p.layout()
	x := func(v float64) float64 { return left + ax.at(v)*(width-left-right) }
	y := func(v float64) float64 { return height - bottom - ay.at(v)*(height-top-bottom) }
	text := func(x, y float64, anchor, class, s string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">%s</text>`+"\n", x, y, anchor, class, html.EscapeString(clean(s)))
	}
	fmt.Fprintf(b, "<title>%s</title>\n", html.EscapeString(clean(p.Title)))
	text(left, 20, "start", "title", p.Title)
	for _, v := range ax.ticks(7) {
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %gV%g"/>`+"\n", x(v), top, height-bottom)
		text(x(v), height-bottom+18, "middle", "", label(v))
	}
	for _, v := range ay.ticks(6) {
		fmt.Fprintf(b, `<path class="grid" d="M%g %.1fH%g"/>`+"\n", left, y(v), width-right)
		text(left-8, y(v)+4, "end", "", label(v))
	}
	fmt.Fprintf(b, `<path class="axis" d="M%g %gV%gH%g"/>`+"\n", left, top, height-bottom, width-right)
	text((left+width-right)/2, height-12, "middle", "", p.X)
	fmt.Fprintf(b, `<text transform="translate(16 %g) rotate(-90)" text-anchor="middle">%s</text>`+"\n", (top+height-bottom)/2, html.EscapeString(clean(p.Y)))
	fmt.Fprintf(b, `<clipPath id="p%d"><rect x="%g" y="%g" width="%g" height="%g"/></clipPath><g clip-path="url(#p%d)">`+"\n",
		number, left, top-4, width-left-right, height-top-bottom+4, number)
	within := func(v float64) float64 { // far outside is as good as just outside
		return min(max(y(v), -height), 2*height)
	}
	if ay.log {
		linear := within
		within = func(v float64) float64 {
			if v <= 0 {
				return 2 * height
			}
			return linear(v)
		}
	}
	for i, c := range curves {
		c.draw(b, i, x, within)
	}
	for _, q := range p.points() {
		class := "point"
		if q.Out {
			class = "out"
		}
		fmt.Fprintf(b, `<circle class="%s" cx="%.1f" cy="%.1f" r="3"/>`, class, x(q.X), within(q.Y))
	}
	b.WriteString("\n</g>\n")
	if len(curves) > 1 || len(curves) == 1 && curves[0].name != "" {
		for i, c := range curves[:min(len(curves), 12)] {
			fmt.Fprintf(b, `<g class="c%d"><rect class="key" x="%g" y="%g" width="14" height="4"/></g>`, i%6, left+12, top+6+16*float64(i))
			text(left+32, top+12+16*float64(i), "start", "", c.name)
		}
	}
}

// draw draws a curve and its band at the places that x and y give.
func (c sampled) draw(b *strings.Builder, number int, x, y func(float64) float64) {
	fmt.Fprintf(b, `<g class="c%d">`, number%6)
	var band, back strings.Builder
	known := func(k int) bool { return usable(c.low[k]) && usable(c.high[k]) && c.high[k] > c.low[k] }
	for k := range c.x {
		if known(k) {
			fmt.Fprintf(&band, "%.1f %.1f ", x(c.x[k]), y(c.high[k]))
		}
	}
	for k := len(c.x) - 1; k >= 0; k-- {
		if known(k) {
			fmt.Fprintf(&back, "%.1f %.1f ", x(c.x[k]), y(c.low[k]))
		}
	}
	if band.Len() > 0 {
		fmt.Fprintf(b, `<polygon class="band" points="%s%s"/>`, band.String(), strings.TrimSpace(back.String()))
	}
	for _, inside := range []bool{true, false} {
		class := "curve"
		if !inside {
			class = "curve beyond"
		}
		path, pen := "", "M"
		for k := range c.x {
			drawn := usable(c.y[k]) && (c.inside[k] == inside || !inside && k+1 < len(c.x) && c.inside[k] && !c.inside[k+1])
			if !drawn {
				pen = "M"
				continue
			}
			path += fmt.Sprintf("%s%.1f %.1f", pen, x(c.x[k]), y(c.y[k]))
			pen = "L"
		}
		if path != "" {
			fmt.Fprintf(b, `<path class="%s" d="%s"/>`, class, path)
		}
	}
	b.WriteString("</g>\n")
}

// clean makes a text fit for XML and for a heading.
func clean(s string) string {
	const most = 90
	runes := []rune(strings.ToValidUTF8(s, "?"))
	for i, r := range runes {
		if r < ' ' || r == 0x7f || r >= 0xfffe {
			runes[i] = ' '
		}
	}
	if len(runes) > most {
		runes = append(runes[:most-1], '…')
	}
	return string(runes)
}
