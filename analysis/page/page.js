'use strict';
(() => {
  const d = JSON.parse(document.getElementById('data').textContent);
  const $ = (id) => document.getElementById(id);
  // Everything from the run enters the page as text, never as markup.
  const el = (tag, attributes = {}, ...children) => {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes)) if (v !== null && v !== undefined) e.setAttribute(k, v);
    e.append(...children);
    return e;
  };
  const three = (x) => x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
  const time = (ns) => ns >= 1e9 ? three(ns / 1e9) + ' s' : ns >= 1e6 ? three(ns / 1e6) + ' ms' : ns >= 1e3 ? three(ns / 1e3) + ' µs' : ns + ' ns';
  const size = (b) => b >= 2 ** 30 ? three(b / 2 ** 30) + ' GiB' : b >= 2 ** 20 ? three(b / 2 ** 20) + ' MiB' : b >= 1024 ? three(b / 1024) + ' KiB' : b + ' B';
  const share = (x) => (100 * x).toFixed(x < 0.1 ? 1 : 0) + ' %';
  const count = (n) => n.toLocaleString('en-US');
  const inks = (names) => Object.fromEntries(names.map((c) => [c, colour(c)]));
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  document.documentElement.classList.add('js');

  // Call paths.
  const P = { parent: 0, id: 1, name: 2, site: 3, kind: 4, own: 5, all: 6, calls: 7, bytes: 8, shaded: 9, ranks: 10 };
  const nodes = d.nodes;
  const children = nodes.map(() => []);
  const byID = new Map();
  const roots = [];
  nodes.forEach((n, i) => {
    byID.set(n[P.id], i);
    (n[P.parent] < 0 ? roots : children[n[P.parent]]).push(i);
  });
  const order = (by) => [roots, ...children].forEach((list) => list.sort((a, b) => by[b] - by[a]));
  order(nodes.map((n) => n[P.all]));
  const kindClass = { mpi: 'mpi', gap: 'useful', 'off-core': 'off', marple: 'own', component: 'comp', region: 'comp', phase: 'comp' };
  const classOf = (i) => kindClass[d.kinds[nodes[i][P.kind]]] || 'frame';
  const label = (i) => d.names[nodes[i][P.name]] + (d.names[nodes[i][P.site]] ? ' (' + d.names[nodes[i][P.site]] + ')' : '');
  // What the call graph shows: the time of each path with what is below it, and without; of differences also which way they go.
  const weigh = (own, title, sign) => {
    const all = own.map((v) => Math.abs(v)), net = own.slice();
    for (let i = nodes.length - 1; i >= 0; i--) if (nodes[i][P.parent] >= 0) { all[nodes[i][P.parent]] += all[i]; net[nodes[i][P.parent]] += net[i]; }
    return { own, all, net: sign ? net : null, title, total: roots.reduce((sum, r) => sum + all[r], 0) || 1 };
  };
  const everything = { own: nodes.map((n) => n[P.own]), all: nodes.map((n) => n[P.all]), net: null, title: 'all ranks', total: roots.reduce((sum, r) => sum + nodes[r][P.all], 0) || 1 };
  let W = everything;
  const signed = (ns) => (ns < 0 ? '−' : '+') + time(Math.abs(ns));
  const amountOf = (i) => W.net ? signed(W.net[i]) + ' per rank' : time(W.all[i]);
  const chain = (i) => { const list = []; for (; i >= 0; i = nodes[i][P.parent]) list.unshift(i); return list; };

  let zoom = -1; // the path that fills the flame graph
  let chosen = -1;
  const row = 20;
  const flame = $('flame');
  function drawFlame() {
    const width = flame.clientWidth;
    if (!width) return;
    const boxes = [];
    let deepest = 0;
    const place = (i, x, w, depth) => {
      if (w < 1.5 || boxes.length > 4000) return;
      boxes.push([i, x, w, depth]);
      deepest = Math.max(deepest, depth);
      let at = x;
      for (const c of children[i]) {
        const cw = W.all[i] ? w * W.all[c] / W.all[i] : 0;
        place(c, at, Math.min(cw, x + w - at), depth + 1);
        at += cw;
      }
    };
    let depth = 0;
    if (zoom >= 0) {
      const above = chain(zoom).slice(0, -1);
      above.forEach((i) => boxes.push([i, 0, width, depth++]));
      place(zoom, 0, width, depth);
    } else {
      let at = 0;
      for (const r of roots) { const w = width * W.all[r] / W.total; place(r, at, w, 0); at += w; }
    }
    flame.replaceChildren(...boxes.map(([i, x, w, y], k) => {
      const b = el('button', { type: 'button', class: (W.net ? (W.net[i] > 0 ? 'more' : 'fewer') : classOf(i)) + (nodes[i][P.shaded] ? ' shaded' : ''), 'data-i': i, tabindex: k ? -1 : 0,
        title: label(i) + ': ' + amountOf(i) + ', ' + share(W.all[i] / W.total), 'aria-current': i === chosen ? 'true' : null }, w > 20 ? label(i) : '');
      b.setAttribute('aria-label', label(i) + ', ' + amountOf(i) + ', ' + share(W.all[i] / W.total));
      b.style.left = x + 'px'; b.style.width = w + 'px'; b.style.top = y * row + 'px';
      return b;
    }));
    flame.style.height = (deepest + 1) * row + 'px';
  }
  flame.setAttribute('role', 'group');
  flame.setAttribute('aria-label', 'Flame graph. Arrow keys go to callers, callees and neighbours; Enter fills the width; Escape shows all.');
  flame.addEventListener('click', (e) => {
    const b = e.target.closest('button');
    if (b) { const i = +b.dataset.i; zoom = zoom === i ? -1 : i; choose(i, false); focusFlame(i); }
  });
  flame.addEventListener('mouseover', (e) => { const b = e.target.closest('button'); if (b) $('flame-text').textContent = b.title; });
  flame.addEventListener('focusin', (e) => { $('flame-text').textContent = e.target.title; });
  const focusFlame = (i) => { const b = flame.querySelector('[data-i="' + i + '"]'); if (b) b.focus(); };
  flame.addEventListener('keydown', (e) => {
    const i = +(e.target.dataset || {}).i;
    if (Number.isNaN(i)) return;
    const up = nodes[i][P.parent], list = up < 0 ? roots : children[up], at = list.indexOf(i);
    const to = { ArrowUp: up, ArrowDown: children[i][0], ArrowLeft: list[at - 1], ArrowRight: list[at + 1] }[e.key];
    if (e.key === 'Escape') { zoom = -1; drawFlame(); focusFlame(i); } else if (to !== undefined && to >= 0) focusFlame(to); else return;
    e.preventDefault();
  });

  // The tree: rows are made when they are opened.
  const open = new Set(roots);
  // At first what takes much is seen: paths with a third of the time or more, as far as they are few.
  for (const list = [...roots]; list.length && open.size < 30;) {
    const i = list.shift();
    if (nodes[i][P.all] < everything.total / 3) continue;
    open.add(i);
    list.push(...children[i]);
  }
  const most = 200; // children shown of one path
  let body;
  function drawTree() {
    const rows = [];
    const add = (i, depth) => {
      const n = nodes[i], opened = open.has(i);
      let kids = children[i];
      const twist = el('span', { class: 'twist', 'aria-hidden': 'true' }, kids.length ? (opened ? '▾' : '▸') : '');
      const first = el('td', {}, twist, label(i));
      first.style.paddingLeft = .5 + depth * 1.1 + 'em';
      rows.push(el('tr', { role: 'row', 'data-i': i, 'aria-level': depth + 1, 'aria-expanded': kids.length ? String(opened) : null, 'aria-selected': String(i === chosen), tabindex: i === (chosen >= 0 ? chosen : roots[0]) ? 0 : -1, class: n[P.shaded] ? 'shaded' : null },
        first, el('td', { class: 'n' }, share(W.all[i] / W.total)), el('td', { class: 'n' }, W.net ? signed(W.net[i]) : time(W.all[i])), el('td', { class: 'n' }, W.net ? signed(W.own[i]) : time(W.own[i])),
        el('td', { class: 'n' }, n[P.calls] ? count(n[P.calls]) : ''), el('td', { class: 'n' }, n[P.bytes] ? size(n[P.bytes]) : ''), el('td', { class: 'n' }, String(n[P.ranks]))));
      if (!opened) return;
      kids = kids.filter((c) => W === everything || W.all[c]);
      kids.slice(0, most).forEach((c) => add(c, depth + 1));
      if (kids.length > most) rows.push(el('tr', {}, el('td', { colspan: 7 }, (kids.length - most) + ' more with less time')));
    };
    roots.forEach((r) => add(r, 0));
    body.replaceChildren(...rows);
  }
  function makeTree() {
    body = el('tbody');
    $('tree').append(el('table', { role: 'treegrid', 'aria-label': 'Call tree' },
      el('thead', {}, el('tr', {}, ...['Call path', 'Share', 'Time', 'Own', 'Calls', 'Bytes', 'Ranks'].map((t, i) => el('th', { scope: 'col', class: i ? 'n' : null }, t)))), body));
    body.addEventListener('click', (e) => {
      const tr = e.target.closest('tr[data-i]');
      if (!tr) return;
      const i = +tr.dataset.i;
      if (e.target.classList.contains('twist')) { open.has(i) ? open.delete(i) : open.add(i); }
      choose(i, true);
    });
    body.addEventListener('keydown', (e) => {
      const tr = e.target.closest('tr[data-i]');
      if (!tr) return;
      const i = +tr.dataset.i, all = [...body.querySelectorAll('tr[data-i]')], at = all.indexOf(tr);
      let to = i;
      if (e.key === 'ArrowDown' && all[at + 1]) to = +all[at + 1].dataset.i;
      else if (e.key === 'ArrowUp' && all[at - 1]) to = +all[at - 1].dataset.i;
      else if (e.key === 'ArrowRight') { if (children[i].length && !open.has(i)) open.add(i); else if (children[i].length) to = children[i][0]; }
      else if (e.key === 'ArrowLeft') { if (open.has(i) && children[i].length) open.delete(i); else if (nodes[i][P.parent] >= 0) to = nodes[i][P.parent]; }
      else if (e.key === 'Home') to = roots[0];
      else if (e.key !== 'Enter' && e.key !== ' ') return;
      e.preventDefault();
      choose(to, true);
    });
  }
  // choose shows a path in the tree, the flame graph and in detail.
  function choose(i, focus) {
    chosen = i;
    for (let p = nodes[i][P.parent]; p >= 0; p = nodes[p][P.parent]) open.add(p);
    drawTree();
    drawFlame();
    const tr = body.querySelector('tr[data-i="' + i + '"]');
    if (tr) { if (focus) tr.focus(); tr.scrollIntoView({ block: 'nearest' }); }
    const n = nodes[i], s = d.shares[i], list = el('div', { class: 'bars' });
    const rows = [];
    for (let k = 0; k < s.length; k += 3) rows.push([s[k], s[k + 1], s[k + 2]]);
    const largest = Math.max(1, ...rows.map((r) => r[2]));
    rows.sort((a, b) => a[0] - b[0]);
    for (const [rank, own, all] of rows) {
      const bar = el('span', { class: 'stack', title: 'rank ' + rank + ': ' + time(all) + ', ' + time(own) + ' of its own' });
      for (const [what, ns] of [['mpi', own], ['frame', all - own]]) { const b = el('span', { class: what }); b.style.width = 100 * ns / largest + '%'; bar.append(b); }
      list.append(el('span', { class: 'label' }, 'rank ' + rank + ', ' + time(all)), bar);
    }
    const link = el('a', { href: '#path-' + n[P.id] }, 'Link to this path');
    $('path').replaceChildren(el('h3', {}, label(i)), el('p', { class: 'quiet' }, 'in ' + chain(i).slice(0, -1).reverse().map(label).join(' in ')), ...sourceOf(i),
      el('p', {}, n[P.ranks] + ' ranks have it, ' + (rows.length < n[P.ranks] ? 'those with most time:' : 'each with:')), list, el('p', {}, link));
  }
  // The lines of a path, where the page has them.
  const sourceOf = (i) => {
    const x = d.sources && d.sources[nodes[i][P.id]];
    if (!x) return [];
    const lines = x.lines.map((text, k) => el('span', { class: x.first + k >= x.from && x.first + k <= x.to ? 'hot' : null }, String(x.first + k).padStart(6) + '  ' + text + '\n'));
    return [el('figure', { class: 'source' }, el('figcaption', { class: 'quiet' }, x.file), el('pre', { tabindex: 0, 'aria-label': 'Source, ' + x.file }, ...lines))];
  };
  document.querySelectorAll('.finding[data-node]').forEach((f) => { const i = byID.get(f.dataset.node); if (i !== undefined) f.append(...sourceOf(i)); });
  // Which weights: of all ranks, of one, of what is selected on the timeline, or the difference from another run.
  const which = $('weights'), whichRank = $('weights-rank');
  let selected = null; // weights
  function reweigh() {
    const of = which.value, rank = +whichRank.value;
    whichRank.hidden = of !== 'rank';
    if (of === 'all') W = everything;
    else if (of === 'rank') {
      W = weigh(nodes.map((_, i) => { const s = d.shares[i]; for (let k = 0; k < s.length; k += 3) if (s[k] === rank) return s[k + 1]; return 0; }), 'rank ' + rank);
      const cut = nodes.some((n, i) => d.shares[i].length / 3 < n[P.ranks]);
      $('weights-text').textContent = 'Rank ' + rank + ': ' + time(W.total) + '.' + (cut ? ' Of each path the ranks with most time are known only: where this one is not among them, its time is missing.' : '');
    } else if (of === 'selection' && selected) W = selected;
    else if (of === 'against') W = weigh(nodes.map((n) => d.against.own[n[P.id]] || 0), 'difference', true);
    if (of !== 'rank') $('weights-text').textContent = of === 'selection' ? selected.title : of === 'against' ? 'Width is by how much paths differ from ' + d.against.name + ', per rank: red takes longer, blue less.' + (d.against.gone.length ? ' Only there: ' + d.against.gone.map(([name, ns]) => name + ' (' + time(ns) + ')').join('; ') + '.' : '') : '';
    order(W.all);
    zoom = -1;
    if (body) { drawTree(); drawFlame(); }
  }
  which.addEventListener('change', reweigh);
  whichRank.addEventListener('input', reweigh);
  let hits = [], hit = -1;
  function search() {
    const text = $('find').value.trim().toLowerCase();
    hits = text ? nodes.map((_, i) => i).filter((i) => label(i).toLowerCase().includes(text)).sort((a, b) => nodes[b][P.all] - nodes[a][P.all]) : [];
    hit = -1;
    $('found').textContent = text ? count(hits.length) + ' found, ' + time(hits.reduce((s, i) => s + nodes[i][P.own], 0)) + ' of their own' : '';
  }
  $('find').addEventListener('input', search);
  const next = () => { if (hits.length) choose(hits[hit = (hit + 1) % hits.length], false); };
  $('find').addEventListener('keydown', (e) => { if (e.key === 'Enter') next(); });
  $('find-next').addEventListener('click', next);

  // Ranks.
  function drawRanks() {
    const bars = el('div', { class: 'bars' + (d.balance.length > 128 ? ' dense' : ''), role: 'img', 'aria-label': 'What each rank spent its time on; the table below has the figures' });
    for (const b of d.balance) {
      const sum = b[1] + b[2] + b[3] + b[4] + b[5] || 1;
      const bar = el('span', { class: 'stack', title: 'rank ' + b[0] + ' on ' + d.names[d.hosts[d.balance.indexOf(b)]] + ': useful ' + time(b[1]) + ', MPI ' + time(b[2]) + ', no core ' + time(b[3]) });
      ['useful', 'mpi', 'off', 'paused', 'own'].forEach((c, k) => { if (b[k + 1]) { const s = el('span', { class: c }); s.style.width = 100 * b[k + 1] / sum + '%'; bar.append(s); } });
      bars.append(el('span', { class: 'label' }, String(b[0])), bar);
    }
    $('rank-bars').replaceChildren(bars);
  }

  // Ranks laid out as the grid in which they send to neighbours: distances between ranks that have many messages are its strides.
  function strides() {
    const far = new Map();
    for (const p of d.peers) { const s = Math.abs(p[1] - p[0]); if (s && p[1] < d.ranks && p[0] < d.ranks) far.set(s, (far.get(s) || 0) + p[2]); }
    const most = Math.max(0, ...far.values()), dims = [];
    let last = 1;
    if (!(far.get(1) > .3 * most)) return [];
    for (const [s, n] of [...far].sort((a, b) => a[0] - b[0])) if (s > last && s % last === 0 && d.ranks % s === 0 && n > .3 * most && dims.length < 2) { dims.push(s / last); last = s; }
    return dims.length ? [...dims, d.ranks / last] : [];
  }
  let dims = [];
  function drawGrid() {
    const canvas = $('grid'), [w, h = 1, planes = 1] = dims, of = +$('grid-what').value;
    canvas.hidden = !dims.length;
    if (!dims.length) return;
    const width = Math.min(canvas.parentElement.clientWidth, 900), apart = planes > 1 ? 12 : 0, cell = Math.max(1, Math.min(48, Math.floor((width - apart * planes) / (w * planes)), Math.floor(480 / h)));
    const ratio = devicePixelRatio || 1, g = canvas.getContext('2d'), wide = (w * cell + apart) * planes, high = h * cell;
    canvas.width = wide * ratio; canvas.height = high * ratio; canvas.style.width = wide + 'px'; canvas.style.height = high + 'px';
    g.scale(ratio, ratio);
    g.font = '11px system-ui, sans-serif'; g.textAlign = 'center'; g.textBaseline = 'middle';
    const byRank = new Map(d.balance.map((b) => [b[0], b])), top = Math.max(1, ...d.balance.map((b) => b[of]));
    const ink = inks(['useful', 'mpi', 'off', 'comp', 'text', 'line']);
    for (let r = 0; r < Math.min(d.ranks, w * h * planes); r++) {
      const x = (r % w) * cell + Math.floor(r / (w * h)) * (w * cell + apart), y = (Math.floor(r / w) % h) * cell, b = byRank.get(r), gap = cell > 4 ? 1 : 0;
      if (b) { g.globalAlpha = .08 + .92 * b[of] / top; g.fillStyle = { 1: ink.useful, 2: ink.mpi, 3: ink.off, 7: ink.comp }[of]; g.fillRect(x, y, cell - gap, cell - gap); }
      g.globalAlpha = 1;
      if (cell >= 26) { g.fillStyle = ink.text; g.fillText(String(r), x + cell / 2, y + cell / 2); }
    }
    canvas.onmousemove = (e) => {
      const b = canvas.getBoundingClientRect(), px = e.clientX - b.left, plane = Math.floor(px / (w * cell + apart)), c = Math.floor((px - plane * (w * cell + apart)) / cell), r = plane * w * h + Math.floor((e.clientY - b.top) / cell) * w + c;
      const x = byRank.get(r);
      $('grid-text').textContent = x && c < w ? 'rank ' + r + ': useful ' + time(x[1]) + ', MPI ' + time(x[2]) + ', no core ' + time(x[3]) + ', sent ' + size(x[7]) : '';
    };
  }
  function makeGrid() {
    dims = strides();
    $('grid-of').value = dims.join(' × ');
    $('grid-why').textContent = dims.length ? 'as ranks send to their neighbours' : 'no grid is known from the messages';
    drawGrid();
  }
  $('grid-of').addEventListener('input', () => {
    const typed = $('grid-of').value.split(/[^0-9]+/).filter(Boolean).map(Number).slice(0, 3);
    const fits = typed.length && typed.every((n) => n >= 1 && n <= d.ranks);
    dims = !fits ? [] : typed.length === 3 ? typed : [...typed.slice(0, 1), typed[1] || Math.ceil(d.ranks / typed[0])];
    $('grid-why').textContent = '';
    drawGrid();
  });
  $('grid-what').addEventListener('change', drawGrid);

  // Who sends to whom.
  function drawMatrix(paper) {
    const of = +$('matrix-of').value, cells = Math.min(d.ranks, 512), per = Math.ceil(d.ranks / cells), n = Math.ceil(d.ranks / per);
    const sum = new Float64Array(n * n);
    for (const p of d.peers) if (p[0] < d.ranks && p[1] < d.ranks) sum[Math.floor(p[0] / per) * n + Math.floor(p[1] / per)] += p[of];
    const some = sum.filter((v) => v > 0);
    if (!some.length) { $('matrix').replaceChildren(el('p', {}, 'No messages between two ranks.')); return; }
    const top = some.reduce((a, b) => Math.max(a, b)), least = some.reduce((a, b) => Math.min(a, b));
    const canvas = el('canvas', { width: n, height: n, tabindex: 0, role: 'application', 'aria-roledescription': 'matrix', 'aria-describedby': 'matrix-text',
      'aria-label': 'Matrix of messages: senders from top to bottom, receivers from left to right. The table below has the same figures. Arrow keys move.' });
    const g = canvas.getContext('2d');
    const image = g.createImageData(n, n);
    const dark = paper !== true && matchMedia('(prefers-color-scheme: dark)').matches;
    const [none, few, many] = dark ? [[13, 17, 23], [70, 45, 40], [255, 160, 100]] : [[255, 255, 255], [250, 215, 200], [150, 20, 5]];
    const mix = (t) => few.map((f, k) => Math.round(f + (many[k] - f) * t));
    sum.forEach((v, i) => {
      const ink = v ? mix(top > least ? Math.log(v / least) / Math.log(top / least) : 1) : none;
      ink.forEach((c, k) => { image.data[4 * i + k] = c; });
      image.data[4 * i + 3] = 255;
    });
    g.putImageData(image, 0, 0);
    const name = (k) => per === 1 ? String(k) : k * per + ' to ' + (Math.min(d.ranks, (k + 1) * per) - 1);
    const amount = (v) => of === 3 ? size(v) : count(v) + ' messages';
    const say = (r, c) => { if (r >= 0 && c >= 0 && r < n && c < n) $('matrix-text').textContent = 'rank ' + name(r) + ' to ' + name(c) + ': ' + amount(sum[r * n + c]); };
    let at = [0, 0];
    canvas.addEventListener('mousemove', (e) => { const b = canvas.getBoundingClientRect(); at = [Math.floor((e.clientY - b.top) / b.height * n), Math.floor((e.clientX - b.left) / b.width * n)]; say(...at); });
    canvas.addEventListener('keydown', (e) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
      if (move) { at = at.map((v, k) => Math.min(n - 1, Math.max(0, v + move[k]))); say(...at); e.preventDefault(); }
    });
    const ends = () => [el('span', {}, '0'), el('span', {}, String(d.ranks - 1))];
    const across = el('div', { class: 'across' }, ...ends()), down = el('div', { class: 'down' }, ...ends());
    across.insertBefore(el('span', {}, 'to rank →'), across.lastChild);
    down.insertBefore(el('span', {}, 'from ↓'), down.lastChild);
    const scale = el('span', { class: 'scale' });
    scale.style.background = 'linear-gradient(to right, rgb(' + mix(0) + '), rgb(' + mix(1) + '))';
    $('matrix').replaceChildren(el('p', { class: 'legend' }, el('span', {}, ...(least < top ? [amount(least) + ' '] : []), scale, ' ' + amount(top) + (top > 2 * least ? ', logarithmic' : ''))),
      el('div', { class: 'matrix' }, across, down, canvas));
  }
  function drawPairs() {
    const list = d.peers.filter((p) => p[2]).sort((a, b) => b[3] - a[3] || b[2] - a[2]).slice(0, 200);
    if (!list.length) return;
    const table = el('table', { class: 'sortable' }, el('caption', {}, 'Pairs with most bytes'),
      el('thead', {}, el('tr', {}, ...['From', 'To', 'Messages', 'Bytes'].map((t) => el('th', { scope: 'col' }, t)))),
      el('tbody', {}, ...list.map((p) => el('tr', {}, el('td', { class: 'n', 'data-v': p[0] }, String(p[0])), el('td', { class: 'n', 'data-v': p[1] }, String(p[1])), el('td', { class: 'n', 'data-v': p[2] }, count(p[2])), el('td', { class: 'n', 'data-v': p[3] }, size(p[3]))))));
    $('pairs').append(el('div', { class: 'scroll' }, table));
  }
  $('matrix-of').addEventListener('change', () => drawMatrix());

  // Timeline: a lane per rank, or per some neighbours. From afar cells of added up time, close up single calls.
  const lanes = $('lanes'), per = d.overview ? d.overview.per : 1, rows = Math.ceil(d.ranks / per);
  let o = d.overview, variant = 0; // what is shown of the variants: the run as it was is the first
  const whole = o ? o.ns : d.events.reduce((m, e) => Math.max(m, e[2] + e[3]), 1);
  const decode = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  let cells = o ? decode(o.cell) : null;
  const litCells = d.lit ? decode(d.lit) : null;
  const decoded = [cells];
  function vary(k) {
    if (!d.variants || k === variant) return;
    variant = k;
    o = k ? { ...d.variants[k], per, waits: [], parts: [], whole: true } : d.overview;
    cells = decoded[k] || (decoded[k] = decode(o.cell));
    document.querySelectorAll('.variant').forEach((s) => { s.value = String(k); });
    drawPicture();
    if (canvas) drawLanes();
  }
  const shares = (lane, cell) => { const at = 4 * (lane * o.cells + cell); return [cells[at], cells[at + 1], cells[at + 2], cells[at + 3]].map((x) => x / 255); };
  const laneName = (k) => per === 1 ? 'rank ' + k : 'ranks ' + k * per + ' to ' + Math.min(d.ranks - 1, (k + 1) * per - 1);
  const gutter = 46, under = 18;
  let from = 0, span = whole, at = null, canvas, area = null; // at: the lane and moment that are looked at
  // A moment, in a unit for the whole run and with as many digits as neighbouring marks need.
  const moment = (t) => {
    const [unit, name] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']].find(([u]) => whole >= u) || [1, 'ns'];
    return (t / unit).toFixed(Math.min(9, Math.max(0, Math.ceil(1 - Math.log10(span / 4 / unit))))) + ' ' + name;
  };
  // paint draws cells of added up time: stacked where there is room, else mixed.
  function paint(g, x, high, gap, inks, first, last) {
    const cellNs = whole / o.cells;
    for (let k = 0; k < rows; k++) for (let c = first; c < last; c++) {
      const [useful, mpi, wait] = shares(k, c), left = Math.floor(x(c * cellNs)), w = Math.max(1, Math.floor(x((c + 1) * cellNs)) - left);
      let y = k * high + high - gap, sum = 0;
      for (const [ink, part] of [['useful', useful], ['mpi', mpi], ['wait', wait]]) {
        if (!part) continue;
        sum += part;
        g.fillStyle = inks[ink];
        if (gap) g.fillRect(left, y -= part * (high - gap), w, part * (high - gap));
        else { g.globalAlpha = part / sum; g.fillRect(left, k * high, w, high); g.globalAlpha = 1; }
      }
    }
  }
  const laneHeight = () => Math.max(2, Math.min(40, Math.floor(640 / rows)));
  function drawLanes(paper) {
    const width = paper || lanes.clientWidth, high = laneHeight(), ratio = paper ? 2 : devicePixelRatio || 1, wide = width - gutter;
    if (wide < 50) return;
    canvas.width = width * ratio; canvas.height = (high * rows + under) * ratio;
    canvas.style.height = high * rows + under + 'px';
    const g = canvas.getContext('2d'), x = (t) => gutter + (t - from) / span * wide;
    g.scale(ratio, ratio);
    g.font = '11px system-ui, sans-serif';
    const inks = paper ? { useful: '#2f8f4e', mpi: '#c4432b', wait: '#f2b705', comp: '#0969da', text: '#000' } : Object.fromEntries(['useful', 'mpi', 'wait', 'comp', 'text'].map((c) => [c, colour(c)]));
    const gap = high > 5 ? 1 : 0, label = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((n) => n / per * high >= 14) || 14 * per;
    g.fillStyle = inks.text; g.textAlign = 'right'; g.textBaseline = 'middle';
    for (let r = 0; r < d.ranks; r += label) g.fillText(String(r), gutter - 5, Math.max(6, Math.floor(r / per) * high + high / 2));
    g.textBaseline = 'alphabetic';
    for (let k = 0; k <= 4; k++) { g.textAlign = k === 4 ? 'right' : k ? 'center' : 'left'; g.fillText(moment(from + span * k / 4), gutter + wide * k / 4, high * rows + 14); }
    g.save();
    g.beginPath(); g.rect(gutter, 0, wide, high * rows); g.clip();
    const cellNs = o ? whole / o.cells : whole, close = d.events.length > 0 && !variant && (!o || (!d.more && cellNs / span * wide > 4));
    const first = o ? Math.max(0, Math.floor(from / cellNs)) : 0, last = o ? Math.min(o.cells, Math.ceil((from + span) / cellNs)) : 0;
    if (close) {
      g.fillStyle = inks.useful;
      for (let k = 0; k < rows; k++) g.fillRect(x(0), k * high, x(whole) - x(0), high - gap);
    } else {
      paint(g, x, high, gap, inks, first, last);
    }
    const box = (rank, start, ns, ink, part, least) => {
      const w = ns / span * wide;
      if (start > from + span || start + ns < from || w < least) return;
      const y = Math.floor(rank / per) * high;
      g.fillStyle = inks[ink];
      g.fillRect(x(start), y + (1 - part) * high / 2, Math.max(w, .7), part * (high - gap));
    };
    if (close || (o && !variant && span < whole)) {
      const least = close ? 0 : 2;
      for (const e of d.events) if (e[5]) box(e[0], e[2], e[3], 'comp', 1, least);
      for (const e of d.events) if (!e[5]) box(e[0], e[2], e[3], 'mpi', close ? .6 : 1, least);
      if (o) for (const w of o.waits) box(w[0], w[2], w[3], 'wait', close ? .6 : 1, least);
    }
    if (o) {
      g.fillStyle = g.strokeStyle = inks.text;
      const thick = Math.max(1.5, Math.min(2.5, high / 6));
      const parts = o.parts.filter((p) => p[1] <= from + span && p[2] >= from);
      const y = (rank) => Math.floor(rank / per) * high + high / 2;
      if (o.whole && parts.length < wide / 3) {
        g.lineWidth = thick; g.lineJoin = 'round'; g.beginPath();
        parts.forEach((p, i) => { i ? g.lineTo(x(p[1]), y(p[0])) : g.moveTo(x(p[1]), y(p[0])); g.lineTo(x(p[2]), y(p[0])); });
        g.stroke();
      } else {
        for (let k = 0; k < rows; k++) for (let c = first; c < last; c++) {
          const part = shares(k, c)[3];
          if (!part) continue;
          g.globalAlpha = .25 + .75 * part;
          g.fillRect(x(c * cellNs), k * high + (high - thick) / 2, x((c + 1) * cellNs) - x(c * cellNs) + .3, thick);
        }
        g.globalAlpha = 1;
      }
    }
    if (area && !paper) {
      g.fillStyle = inks.text; g.globalAlpha = .14;
      g.fillRect(x(area.from), area.low * high, x(area.to) - x(area.from), (area.high - area.low + 1) * high);
      g.globalAlpha = 1;
    }
    if (at && !paper) {
      g.strokeStyle = inks.text; g.lineWidth = 1; g.setLineDash([3, 2]);
      g.strokeRect(gutter, at[0] * high + .5, wide, Math.max(2, high - 1));
      g.beginPath(); g.moveTo(x(at[1]), 0); g.lineTo(x(at[1]), high * rows); g.stroke();
    }
    g.restore();
  }
  // What is selected: lanes low to high, a span of time, both as fine as the slices are.
  function select(low, high, begin, end) {
    const n = d.slices.count, slice = whole / n;
    const first = Math.max(0, Math.min(n - 1, Math.floor(Math.min(begin, end) / slice + 1e-6))), last = Math.max(first, Math.min(n - 1, Math.ceil(Math.max(begin, end) / slice - 1e-6) - 1));
    [low, high] = [Math.max(0, Math.min(low, high)), Math.min(rows - 1, Math.max(low, high))];
    area = { low, high, from: first * slice, to: (last + 1) * slice };
    const sums = new Map(), useful = [];
    for (let k = low; k <= high; k++) {
      let own = 0;
      for (let c = first; c <= last; c++) {
        const s = d.slices.of[k * n + c];
        for (let e = 0; e < s.length; e += 4) {
          const x = sums.get(s[e]) || [0, 0, s[e + 1]];
          x[0] += s[e + 2]; x[1] += s[e + 3];
          sums.set(s[e] < 0 ? -1 - s[e + 1] : s[e], x);
          if (!s[e + 1]) own += s[e + 2];
        }
      }
      useful.push(own / Math.min(per, d.ranks - k * per));
    }
    const list = [...sums].sort((a, b) => b[1][0] - a[1][0]), all = list.reduce((t, x) => t + x[1][0], 0) || 1;
    const mean = useful.reduce((a, b) => a + b, 0) / useful.length, top = Math.max(...useful, 1), waits = list.reduce((t, x) => t + x[1][1], 0), long = area.to - area.from;
    const name = (low === high ? laneName(low) : 'ranks ' + low * per + ' to ' + (Math.min(d.ranks, (high + 1) * per) - 1)) + ', ' + moment(area.from) + ' to ' + moment(area.to);
    const own = nodes.map(() => 0);
    list.forEach(([i, x]) => { if (i >= 0) own[i] += x[0]; });
    selected = weigh(own, 'Only ' + name + (list.some(([i]) => i < 0) ? '; short paths are left out' : '') + '.');
    which.querySelector('[value=selection]').disabled = false;
    const go = el('button', { type: 'button' }, 'Call graph of this');
    go.addEventListener('click', () => { which.value = 'selection'; reweigh(); location.hash = '#calls'; });
    const none = el('button', { type: 'button' }, 'Select nothing');
    none.addEventListener('click', () => { area = null; $('selection').replaceChildren(); drawLanes(); });
    const efficiency = (title, v) => { const bar = el('span', { class: 'bar' }, el('span', { class: 'useful' })); bar.firstChild.style.width = 100 * v + '%'; return el('tr', {}, el('th', { scope: 'row' }, title), el('td', { class: 'n' }, share(v)), el('td', {}, bar)); };
    $('selection').replaceChildren(el('h3', {}, 'Selected: ' + name),
      el('table', {}, el('tbody', {}, efficiency('Parallel efficiency', Math.min(1, mean / long)), efficiency('– load balance', mean / top), efficiency('– communication', Math.min(1, top / long)), efficiency('Waiting for other ranks', waits / all))),
      el('div', { class: 'scroll' }, el('table', {}, el('thead', {}, el('tr', {}, ...['Time', 'Share', 'Waiting', 'Path'].map((t, k) => el('th', { scope: 'col', class: k < 3 ? 'n' : null }, t)))),
        el('tbody', {}, ...list.slice(0, 12).map(([i, x]) => el('tr', {}, el('td', { class: 'n' }, time(x[0])), el('td', { class: 'n' }, share(x[0] / all)), el('td', { class: 'n' }, x[1] ? time(x[1]) : ''),
          el('td', { class: 'long' }, i >= 0 ? el('a', { href: '#path-' + nodes[i][P.id] }, pathName(i)) : x[2] ? 'other calls' : 'other paths between calls')))))),
      el('p', { class: 'tools' }, go, ' ', none));
    if (which.value === 'selection') reweigh();
    drawLanes();
  }
  const pathName = (i) => chain(i).slice(-3).reverse().map((k) => label(k)).join(' in ');
  // Ranks that are typed, "0-3" or "5", as lanes; all, if it is neither.
  const typedLanes = (text) => { const m = /^\s*(\d+)\s*(?:[-–]\s*(\d+))?\s*$/.exec(text); return m ? [Math.floor(+m[1] / per), Math.floor(+(m[2] || m[1]) / per)] : [0, rows - 1]; };
  // tell describes the moment of a lane that is looked at.
  function tell() {
    const [lane, t] = at, say = [laneName(lane) + ' at ' + moment(t)], slack = span / 1000;
    const of = (e, start, ns) => Math.floor(e[0] / per) === lane && start <= t + slack && start + ns >= t - slack;
    const wait = o && o.waits.filter((w) => of(w, w[2], w[3])).sort((a, b) => b[3] - a[3])[0];
    const hit = d.events.filter((e) => of(e, e[2], e[3])).sort((a, b) => a[3] - b[3])[0];
    if (hit) say.push(d.names[hit[4]] + ', ' + time(hit[3]) + (hit[6] >= 0 ? ', peer ' + hit[6] : '') + (hit[7] ? ', ' + size(hit[7]) : ''));
    if (wait) say.push((per > 1 ? 'rank ' + wait[0] + ' ' : '') + 'waits ' + time(wait[3]) + ' for rank ' + wait[1] + ' (' + d.names[wait[4]] + ')');
    if (o) {
      const [useful, mpi, waiting, critical] = shares(lane, Math.min(o.cells - 1, Math.floor(t / whole * o.cells)));
      if (!hit && !wait) say.push(useful + mpi + waiting ? 'around it ' + share(useful) + ' outside MPI, ' + share(mpi) + ' in MPI, ' + share(waiting) + ' waiting' : 'nothing is known');
      if (critical > .5) say.push('on the critical path');
    }
    $('lanes-text').textContent = say.join('; ');
  }
  const move = (f, s) => { span = Math.min(whole, Math.max(Math.min(whole, 100), s)); from = Math.min(whole - span, Math.max(0, f)); drawLanes(); };
  const about = (part, by) => move(from + span * part * (1 - by), span * by);
  const look = (lane, t) => {
    at = [Math.min(rows - 1, Math.max(0, lane)), Math.min(whole, Math.max(0, t))];
    if (at[1] < from || at[1] > from + span) from = Math.min(whole - span, Math.max(0, at[1] - span / 2));
    drawLanes();
    tell();
  };
  function makeLanes() {
    canvas = el('canvas', { tabindex: 0, role: 'application', 'aria-roledescription': 'timeline', 'aria-describedby': 'lanes-text',
      'aria-label': 'Timeline with ' + rows + ' lanes. Arrow keys go to other ranks and moments, plus and minus zoom, Home shows all.' + (o ? ' The table below has the longest waits.' : '') });
    lanes.append(canvas);
    const place = (e) => { const b = canvas.getBoundingClientRect(); return [Math.floor((e.clientY - b.top) / laneHeight()), (e.clientX - b.left - gutter) / (b.width - gutter)]; };
    canvas.addEventListener('wheel', (e) => { if (!e.ctrlKey) return; about(place(e)[1], e.deltaY < 0 ? .8 : 1.25); e.preventDefault(); }, { passive: false });
    let drag = null;
    const edge = (part) => Math.min(whole, Math.max(0, from + part * span));
    let began = null; // with Shift, a selection
    canvas.addEventListener('pointerdown', (e) => {
      if (e.shiftKey && d.slices) { began = place(e); canvas.setPointerCapture(e.pointerId); e.preventDefault(); return; }
      drag = [e.clientX, from, false]; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener('pointerup', (e) => { const [lane, part] = place(e); if (began) { select(began[0], lane, edge(began[1]), edge(part)); began = null; return; } if (drag && !drag[2]) look(lane, from + part * span); drag = null; });
    canvas.addEventListener('pointercancel', () => { drag = began = null; });
    canvas.addEventListener('pointermove', (e) => {
      const [lane, part] = place(e);
      if (began) { area = { low: Math.max(0, Math.min(rows - 1, began[0], lane)), high: Math.min(rows - 1, Math.max(began[0], lane, 0)), from: Math.min(edge(began[1]), edge(part)), to: Math.max(edge(began[1]), edge(part)) }; drawLanes(); return; }
      if (drag && Math.abs(e.clientX - drag[0]) > 3) drag[2] = true;
      if (drag) { if (drag[2]) move(drag[1] + (drag[0] - e.clientX) / (canvas.clientWidth - gutter) * span, span); return; }
      if (part >= 0 && part <= 1 && lane >= 0 && lane < rows) look(lane, from + part * span);
    });
    canvas.addEventListener('pointerleave', () => { if (document.activeElement !== canvas) { at = null; drawLanes(); } });
    const act = { left: () => move(from - span / 4, span), right: () => move(from + span / 4, span), in: () => about(.5, .5), out: () => about(.5, 2), all: () => move(0, whole) };
    document.querySelectorAll('[data-lanes]').forEach((b) => b.addEventListener('click', () => act[b.dataset.lanes]()));
    if (d.slices) $('select').addEventListener('submit', (e) => { e.preventDefault(); select(...typedLanes($('select-ranks').value), from, from + span); });
    canvas.addEventListener('focus', () => { if (!at) look(0, from + span / 2); });
    canvas.addEventListener('keydown', (e) => {
      const [lane, t] = at || [0, from + span / 2], step = span / 50;
      const key = { ArrowLeft: () => look(lane, t - step), ArrowRight: () => look(lane, t + step), ArrowUp: () => look(lane - 1, t), ArrowDown: () => look(lane + 1, t),
        PageUp: () => look(lane - 10, t), PageDown: () => look(lane + 10, t), '+': () => { about((t - from) / span, .5); }, '=': () => { about((t - from) / span, .5); }, '-': () => about((t - from) / span, 2), Home: act.all }[e.key];
      if (key) { key(); e.preventDefault(); }
    });
    // Each of the longest waits leads to its moment.
    document.querySelectorAll('#long-waits tbody tr').forEach((tr) => {
      const cell = tr.cells[1], b = el('button', { type: 'button', class: 'link', 'aria-label': 'Show the moment ' + cell.textContent + ' of rank ' + tr.dataset.rank }, cell.textContent);
      cell.replaceChildren(b);
      b.addEventListener('click', () => { const ns = +tr.dataset.ns, t = +tr.dataset.at; move(t - 2 * ns, 5 * ns); look(Math.floor(+tr.dataset.rank / per), t + ns / 2); canvas.scrollIntoView({ block: 'nearest' }); canvas.focus(); });
    });
  }

  // The first picture: ranks and time, or, where that is not known, call paths and ranks. Findings light up their places in it.
  const picture = $('picture');
  let lit = -1;
  const rowsOf = () => { // the paths with most time of their own
    const list = nodes.map((_, i) => i).filter((i) => d.shares[i].length && nodes[i][P.own]).sort((a, b) => nodes[b][P.own] - nodes[a][P.own]).slice(0, 24);
    const place = new Map(chainOrder.map((i, k) => [i, k]));
    return list.sort((a, b) => place.get(a) - place.get(b));
  };
  const chainOrder = [];
  (function walk(list) { for (const i of list) { chainOrder.push(i); walk(children[i]); } })(roots);
  let heat = null;
  function drawPicture() {
    const width = picture.parentElement.clientWidth;
    if (!width) return;
    const ratio = devicePixelRatio || 1, g = picture.getContext('2d'), ink = inks(['useful', 'mpi', 'wait', 'text', 'back', 'quiet', 'off']);
    const size = (high) => { picture.width = width * ratio; picture.height = high * ratio; picture.style.height = high + 'px'; g.scale(ratio, ratio); g.font = '11px system-ui, sans-serif'; };
    if (o) {
      const high = Math.max(1, Math.min(36, Math.floor(320 / rows))), wide = width - gutter, x = (t) => gutter + t / whole * wide, gap = high > 5 ? 1 : 0;
      size(high * rows + under);
      const each = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((n) => n / per * high >= 14) || 14 * per;
      g.fillStyle = ink.quiet; g.textAlign = 'right'; g.textBaseline = 'middle';
      for (let r = 0; r < d.ranks; r += each) g.fillText(String(r), gutter - 5, Math.max(6, Math.floor(r / per) * high + high / 2));
      g.textBaseline = 'alphabetic';
      for (let k = 0; k <= 4; k++) { g.textAlign = k === 4 ? 'right' : k ? 'center' : 'left'; g.fillText(moment(whole * k / 4), gutter + wide * k / 4, high * rows + 14); }
      paint(g, x, high, gap, ink, 0, o.cells);
      if (lit >= 0 && litCells && !variant) {
        const cellNs = whole / o.cells;
        g.fillStyle = ink.back; g.globalAlpha = .78;
        for (let k = 0; k < rows; k++) for (let c = 0; c < o.cells; c++) if (!(litCells[k * o.cells + c] >> lit & 1)) g.fillRect(x(c * cellNs), k * high, x((c + 1) * cellNs) - x(c * cellNs) + .4, high);
        g.globalAlpha = 1;
      }
      return;
    }
    heat = heat || rowsOf();
    const high = Math.max(10, Math.min(18, Math.floor(340 / Math.max(1, heat.length)))), left = Math.min(230, width * .4), columns = Math.min(d.ranks, 256), each = Math.ceil(d.ranks / columns), n = Math.ceil(d.ranks / each), wide = (width - left) / n;
    size(high * heat.length + under);
    const sums = heat.map((i) => { const v = new Float64Array(n), s = d.shares[i]; for (let k = 0; k < s.length; k += 3) v[Math.floor(s[k] / each)] += s[k + 1] / Math.min(each, d.ranks - Math.floor(s[k] / each) * each); return v; });
    const top = Math.max(1, ...sums.map((v) => v.reduce((a, b) => Math.max(a, b), 0)));
    const f = lit >= 0 ? d.findings[lit] : null, below = (i) => { for (; i >= 0; i = nodes[i][P.parent]) if (f.nodes.includes(nodes[i][P.id])) return true; return false; };
    heat.forEach((i, k) => {
      const there = !f || below(i);
      g.globalAlpha = there ? 1 : .25;
      g.fillStyle = ink.text; g.textAlign = 'right'; g.textBaseline = 'middle';
      let text = label(i);
      while (text.length > 4 && g.measureText(text).width > left - 8) text = text.slice(0, -2).replace(/…$/, '') + '…';
      g.fillText(text, left - 6, k * high + high / 2);
      for (let c = 0; c < n; c++) {
        const here = there && (!f || !f.ranks.length || f.ranks.some((r) => Math.floor(r / each) === c));
        g.globalAlpha = (f && !here ? .12 : 1) * Math.sqrt(sums[k][c] / top);
        g.fillStyle = ink[classOf(i)] || ink.useful;
        g.fillRect(left + c * wide, k * high, Math.max(1, wide - (wide > 6 ? 1 : 0)), high - 1);
      }
      g.globalAlpha = 1;
    });
    g.fillStyle = ink.quiet; g.textBaseline = 'alphabetic';
    g.textAlign = 'left'; g.fillText('rank 0', left, high * heat.length + 14);
    if (d.ranks > 1) { g.textAlign = 'right'; g.fillText(String(d.ranks - 1), width, high * heat.length + 14); }
  }
  document.querySelectorAll('.finding').forEach((f, i) => {
    if (i >= 8) return;
    const light = (on) => () => { const next = on ? i : -1; if (next === lit) return; lit = next; f.classList.toggle('lit', on); drawPicture(); };
    f.addEventListener('pointerenter', light(true));
    f.addEventListener('focusin', light(true));
    f.addEventListener('pointerleave', light(false));
    f.addEventListener('focusout', light(false));
  });
  picture.addEventListener('click', (e) => {
    const b = picture.getBoundingClientRect();
    if (!o) { const i = heat[Math.floor((e.clientY - b.top) / b.height * (heat.length + under / 14))]; if (i !== undefined) location.hash = '#path-' + nodes[i][P.id]; return; }
    const t = (e.clientX - b.left - gutter) / (b.width - gutter) * whole, high = (b.height - under) / rows;
    location.hash = '#timeline';
    setTimeout(() => { move(t - whole / 10, whole / 5); look(Math.floor((e.clientY - b.top) / high), t); });
  });
  document.querySelectorAll('.variant').forEach((s) => s.addEventListener('change', () => vary(+s.value)));

  // What a finding's remedy would bring: each position of the sliders is a row of the table, which is a replay.
  if (d.steps) {
    const set = d.steps.findings.map(() => 0), out = $('would');
    const say = () => {
      let at = 0, by = 1;
      d.steps.findings.forEach((f, k) => { at += set[k] * by; by *= f.steps.length; });
      const [was, is] = [d.steps.rows[0], d.steps.rows[at]];
      const told = (r) => time(1e9 * r[0]) + ', parallel efficiency ' + share(r[1]) + ', load balance ' + share(r[2]);
      const parts = d.steps.findings.map((f, k) => set[k] ? share(f.steps[set[k]]) + ' of finding ' + (f.finding + 1) : '').filter(Boolean);
      out.replaceChildren(...(at ? [el('b', {}, 'Without ' + parts.join(' and ') + ': ' + time(1e9 * is[0])), ' instead of ' + time(1e9 * was[0]) + ' (' + (is[0] <= was[0] ? 'saves ' : 'takes more: ') + share(Math.abs(1 - is[0] / was[0])) + '), parallel efficiency ' + share(is[1]) + ', load balance ' + share(is[2]) + '.']
        : ['The run' + (d.steps.cored ? ' with a core for each rank' : '') + ': ' + told(was) + '.']));
      const full = d.steps.findings.map((f, k) => [f, set[k]]).filter(([, v]) => v);
      const picked = full.length === 1 && full[0][1] === full[0][0].steps.length - 1 && d.variants ? d.variants.findIndex((v) => v.finding === full[0][0].finding) : 0;
      vary(Math.max(0, picked));
    };
    d.steps.findings.forEach((f, k) => {
      const article = $('finding-' + (f.finding + 1)), last = f.steps.length - 1;
      const input = el('input', { type: 'range', min: 0, max: last, step: 1, value: 0, 'aria-label': 'Part of finding ' + (f.finding + 1) + ' that is removed' }), text = el('output', {}, '0 %');
      const gone = () => { set[k] = +input.value; text.textContent = share(f.steps[set[k]]); input.setAttribute('aria-valuetext', text.textContent); say(); };
      input.addEventListener('input', gone);
      article.querySelector('.cost').after(el('p', { class: 'tools slider' }, el('label', {}, 'What if it were gone? ', input), ' ', text));
    });
    say();
  }

  // Tables that can be sorted.
  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((th, column) => {
      const below = table.tBodies[0].rows[0];
      if (below && below.cells[column] && below.cells[column].classList.contains('n')) th.classList.add('n');
      const button = el('button', { type: 'button' }, th.textContent);
      th.replaceChildren(button);
      button.addEventListener('click', () => {
        const up = th.getAttribute('aria-sort') === 'descending';
        heads.forEach((h) => h.removeAttribute('aria-sort'));
        th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
        const value = (tr) => { const c = tr.cells[column]; return c.dataset.v !== undefined ? +c.dataset.v : c.textContent; };
        const rows = [...table.tBodies[0].rows].map((tr) => [value(tr), tr]);
        rows.sort(([a], [b]) => (typeof a === 'number' ? a - b : String(a).localeCompare(String(b))) * (up ? 1 : -1));
        table.tBodies[0].append(...rows.map(([, tr]) => tr));
      });
    });
  }

  // Views.
  const views = [...document.querySelectorAll('.view')];
  const drawn = new Set();
  const drawing = {
    diagnosis: drawPicture,
    calls: () => { makeTree(); drawTree(); drawFlame(); },
    ranks: () => { drawRanks(); makeGrid(); },
    messages: () => { drawMatrix(); },
    timeline: makeLanes,
  };
  const draw = (id) => { if (!drawn.has(id)) { drawn.add(id); if (drawing[id]) drawing[id](); } };
  function show() {
    const hash = location.hash.slice(1) || 'diagnosis';
    const path = hash.startsWith('path-') ? byID.get(hash.slice(5)) : undefined;
    const target = path !== undefined ? $('calls') : $(hash) || views[0];
    const view = target.closest('.view') || views[0];
    views.forEach((v) => v.classList.toggle('shown', v === view));
    document.querySelectorAll('nav a').forEach((a) => { if (a.getAttribute('href') !== '#' + view.id) { a.removeAttribute('aria-current'); return; }
      a.setAttribute('aria-current', 'page');
      const bar = a.closest('ul');
      bar.scrollLeft = a.offsetLeft - bar.offsetLeft - (bar.clientWidth - a.offsetWidth) / 2;
    });
    draw(view.id);
    if (view.id === 'timeline') drawLanes();
    if (path !== undefined) choose(path, false);
    else if (target !== view) target.scrollIntoView();
    else scrollTo(0, 0);
  }
  drawPairs();
  document.querySelectorAll('table.sortable').forEach(sortable);
  addEventListener('hashchange', show);
  let later;
  addEventListener('resize', () => { clearTimeout(later); later = setTimeout(() => { if (drawn.has('calls')) drawFlame(); if (drawn.has('timeline')) drawLanes(); drawPicture(); }, 100); });
  // On paper all views are there, in light colours; what is followed or not stays as it is.
  addEventListener('beforeprint', () => { views.forEach((v) => { if (v.id !== 'calls') draw(v.id); }); drawMatrix(true); if (canvas) drawLanes(700); });
  addEventListener('afterprint', () => { drawMatrix(); if (canvas) drawLanes(); });
  show();
})();
