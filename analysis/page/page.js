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
  children.forEach((list) => list.sort((a, b) => nodes[b][P.all] - nodes[a][P.all]));
  const kindClass = { mpi: 'mpi', gap: 'useful', 'off-core': 'off', marple: 'own', component: 'comp', region: 'comp', phase: 'comp' };
  const classOf = (i) => kindClass[d.kinds[nodes[i][P.kind]]] || 'frame';
  const label = (i) => d.names[nodes[i][P.name]] + (d.names[nodes[i][P.site]] ? ' (' + d.names[nodes[i][P.site]] + ')' : '');
  const total = roots.reduce((sum, r) => sum + nodes[r][P.all], 0) || 1;
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
        const cw = nodes[i][P.all] ? w * nodes[c][P.all] / nodes[i][P.all] : 0;
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
      for (const r of roots) { const w = width * nodes[r][P.all] / total; place(r, at, w, 0); at += w; }
    }
    flame.replaceChildren(...boxes.map(([i, x, w, y], k) => {
      const b = el('button', { type: 'button', class: classOf(i) + (nodes[i][P.shaded] ? ' shaded' : ''), 'data-i': i, tabindex: k ? -1 : 0,
        title: label(i) + ': ' + time(nodes[i][P.all]) + ', ' + share(nodes[i][P.all] / total), 'aria-current': i === chosen ? 'true' : null }, w > 20 ? label(i) : '');
      b.setAttribute('aria-label', label(i) + ', ' + time(nodes[i][P.all]) + ', ' + share(nodes[i][P.all] / total));
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
  const most = 200; // children shown of one path
  let body;
  function drawTree() {
    const rows = [];
    const add = (i, depth) => {
      const n = nodes[i], kids = children[i], opened = open.has(i);
      const twist = el('span', { class: 'twist', 'aria-hidden': 'true' }, kids.length ? (opened ? '▾' : '▸') : '');
      const first = el('td', {}, twist, label(i));
      first.style.paddingLeft = .5 + depth * 1.1 + 'em';
      rows.push(el('tr', { role: 'row', 'data-i': i, 'aria-level': depth + 1, 'aria-expanded': kids.length ? String(opened) : null, 'aria-selected': String(i === chosen), tabindex: i === (chosen >= 0 ? chosen : roots[0]) ? 0 : -1, class: n[P.shaded] ? 'shaded' : null },
        first, el('td', { class: 'n' }, share(n[P.all] / total)), el('td', { class: 'n' }, time(n[P.all])), el('td', { class: 'n' }, time(n[P.own])),
        el('td', { class: 'n' }, n[P.calls] ? count(n[P.calls]) : ''), el('td', { class: 'n' }, n[P.bytes] ? size(n[P.bytes]) : ''), el('td', { class: 'n' }, String(n[P.ranks]))));
      if (!opened) return;
      kids.slice(0, most).forEach((c) => add(c, depth + 1));
      if (kids.length > most) rows.push(el('tr', {}, el('td', { colspan: 7 }, (kids.length - most) + ' more with less time')));
    };
    roots.forEach((r) => add(r, 0));
    body.replaceChildren(...rows);
  }
  function makeTree() {
    body = el('tbody');
    $('tree').append(el('table', { role: 'treegrid', 'aria-label': 'Call tree' },
      el('thead', {}, el('tr', {}, ...['Call path', 'Share', 'Time', 'Own', 'Calls', 'Bytes', 'Ranks'].map((t) => el('th', { scope: 'col' }, t)))), body));
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
    $('path').replaceChildren(el('h3', {}, label(i)), el('p', { class: 'quiet' }, 'in ' + chain(i).slice(0, -1).reverse().map(label).join(' in ')),
      el('p', {}, n[P.ranks] + ' ranks have it, ' + (rows.length < n[P.ranks] ? 'those with most time:' : 'each with:')), list, el('p', {}, link));
  }
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

  // Who sends to whom.
  function drawMatrix() {
    const of = +$('matrix-of').value, cells = Math.min(d.ranks, 512), per = Math.ceil(d.ranks / cells), n = Math.ceil(d.ranks / per);
    const sum = new Float64Array(n * n);
    for (const p of d.peers) if (p[0] < d.ranks && p[1] < d.ranks) sum[Math.floor(p[0] / per) * n + Math.floor(p[1] / per)] += p[of];
    const top = sum.reduce((a, b) => Math.max(a, b), 0);
    const canvas = el('canvas', { width: n, height: n, tabindex: 0, role: 'img', 'aria-label': 'Matrix of messages: senders from top to bottom, receivers from left to right. The table below has the same figures. Arrow keys move.' });
    const g = canvas.getContext('2d');
    const image = g.createImageData(n, n);
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    sum.forEach((v, i) => {
      const t = v ? .15 + .85 * Math.log1p(v) / Math.log1p(top) : 0;
      const [from, to] = dark ? [[13, 17, 23], [255, 150, 90]] : [[255, 255, 255], [160, 30, 10]];
      from.forEach((f, k) => { image.data[4 * i + k] = f + (to[k] - f) * t; });
      image.data[4 * i + 3] = 255;
    });
    g.putImageData(image, 0, 0);
    const name = (k) => per === 1 ? String(k) : k * per + '–' + Math.min(d.ranks, (k + 1) * per) + '';
    const say = (r, c) => { if (r >= 0 && c >= 0 && r < n && c < n) $('matrix-text').textContent = name(r) + ' to ' + name(c) + ': ' + (of === 3 ? size(sum[r * n + c]) : count(sum[r * n + c]) + ' messages'); };
    let at = [0, 0];
    canvas.addEventListener('mousemove', (e) => { const b = canvas.getBoundingClientRect(); at = [Math.floor((e.clientY - b.top) / b.height * n), Math.floor((e.clientX - b.left) / b.width * n)]; say(...at); });
    canvas.addEventListener('keydown', (e) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
      if (move) { at = at.map((v, k) => Math.min(n - 1, Math.max(0, v + move[k]))); say(...at); e.preventDefault(); }
    });
    $('matrix').replaceChildren(d.peers.length ? canvas : el('p', {}, 'No messages between two ranks.'));
  }
  function drawPairs() {
    const list = d.peers.filter((p) => p[2]).sort((a, b) => b[3] - a[3] || b[2] - a[2]).slice(0, 200);
    if (!list.length) return;
    const table = el('table', { class: 'sortable' }, el('caption', {}, 'Pairs with most bytes'),
      el('thead', {}, el('tr', {}, ...['From', 'To', 'Messages', 'Bytes'].map((t) => el('th', { scope: 'col' }, t)))),
      el('tbody', {}, ...list.map((p) => el('tr', {}, el('td', { class: 'n', 'data-v': p[0] }, String(p[0])), el('td', { class: 'n', 'data-v': p[1] }, String(p[1])), el('td', { class: 'n', 'data-v': p[2] }, count(p[2])), el('td', { class: 'n', 'data-v': p[3] }, size(p[3]))))));
    $('pairs').append(el('div', { class: 'scroll' }, table));
  }
  $('matrix-of').addEventListener('change', drawMatrix);

  // Timeline: one lane per rank.
  let from = 0, span = 1, whole = 1;
  const lanes = $('lanes');
  let canvas;
  function drawLanes() {
    const ratio = devicePixelRatio || 1, width = lanes.clientWidth, height = Math.max(2, Math.min(22, Math.floor(640 / d.ranks)));
    if (!width) return;
    canvas.width = width * ratio; canvas.height = (height * d.ranks + 18) * ratio;
    canvas.style.height = height * d.ranks + 18 + 'px';
    const g = canvas.getContext('2d');
    g.scale(ratio, ratio);
    g.fillStyle = colour('useful');
    g.globalAlpha = .35;
    for (let r = 0; r < d.ranks; r++) g.fillRect(0, r * height + 1, width, height - 2);
    g.globalAlpha = 1;
    for (const region of [true, false]) {
      g.fillStyle = colour(region ? 'comp' : 'mpi');
      for (const e of d.events) {
        if (e[5] !== region || e[2] > from + span || e[2] + e[3] < from) continue;
        g.fillRect((e[2] - from) / span * width, e[0] * height + (region ? 1 : height / 4), Math.max(.7, e[3] / span * width), region ? height - 2 : Math.max(1, height / 2));
      }
    }
    g.fillStyle = colour('text');
    g.font = '11px system-ui, sans-serif';
    for (let k = 0; k <= 4; k++) { g.textAlign = k === 4 ? 'right' : k ? 'center' : 'left'; g.fillText(time(Math.round(from + span * k / 4)), width * k / 4, height * d.ranks + 14); }
    lanes.dataset.height = height;
  }
  function makeLanes() {
    whole = d.events.reduce((m, e) => Math.max(m, e[2] + e[3]), 1);
    span = whole;
    canvas = el('canvas', { tabindex: 0, role: 'img', 'aria-label': 'Timeline with one lane per rank. Arrow keys move, plus and minus zoom, Home shows all.' });
    lanes.append(canvas);
    const set = (f, s) => { span = Math.min(whole, Math.max(100, s)); from = Math.min(whole - span, Math.max(0, f)); drawLanes(); };
    const about = (x, by) => set(from + span * x * (1 - by), span * by);
    canvas.addEventListener('wheel', (e) => { if (!e.ctrlKey && !e.shiftKey && Math.abs(e.deltaX) > Math.abs(e.deltaY)) return; about(e.offsetX / canvas.clientWidth, e.deltaY < 0 ? .8 : 1.25); e.preventDefault(); }, { passive: false });
    let drag = null;
    canvas.addEventListener('pointerdown', (e) => { drag = [e.offsetX, from]; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener('pointerup', () => { drag = null; });
    canvas.addEventListener('pointermove', (e) => {
      if (drag) { set(drag[1] + (drag[0] - e.offsetX) / canvas.clientWidth * span, span); return; }
      const t = from + e.offsetX / canvas.clientWidth * span, rank = Math.floor(e.offsetY / +lanes.dataset.height);
      const slack = span / canvas.clientWidth;
      const hit = d.events.filter((x) => x[0] === rank && x[2] <= t + slack && x[2] + x[3] >= t - slack).sort((a, b) => a[3] - b[3])[0];
      $('lanes-text').textContent = 'rank ' + rank + ' at ' + time(Math.round(t)) + (hit ? ': ' + d.names[hit[4]] + ', ' + time(hit[3]) + (hit[6] >= 0 ? ', peer ' + hit[6] : '') + (hit[7] ? ', ' + size(hit[7]) : '') : '');
    });
    canvas.addEventListener('keydown', (e) => {
      const act = { ArrowLeft: () => set(from - span / 10, span), ArrowRight: () => set(from + span / 10, span), '+': () => about(.5, .8), '=': () => about(.5, .8), '-': () => about(.5, 1.25), Home: () => set(0, whole) }[e.key];
      if (act) { act(); e.preventDefault(); }
    });
  }

  // Tables that can be sorted.
  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((th, column) => {
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
    calls: () => { makeTree(); drawTree(); drawFlame(); },
    ranks: drawRanks,
    messages: () => { drawMatrix(); },
    timeline: () => { makeLanes(); drawLanes(); },
  };
  function show() {
    const hash = location.hash.slice(1) || 'diagnosis';
    const path = hash.startsWith('path-') ? byID.get(hash.slice(5)) : undefined;
    const target = path !== undefined ? $('calls') : $(hash) || views[0];
    const view = target.closest('.view') || views[0];
    views.forEach((v) => v.classList.toggle('shown', v === view));
    document.querySelectorAll('nav a').forEach((a) => { a.getAttribute('href') === '#' + view.id ? a.setAttribute('aria-current', 'page') : a.removeAttribute('aria-current'); });
    if (!drawn.has(view.id)) { drawn.add(view.id); if (drawing[view.id]) drawing[view.id](); }
    if (path !== undefined) choose(path, false);
    else if (target !== view) target.scrollIntoView();
    else scrollTo(0, 0);
  }
  drawPairs();
  document.querySelectorAll('table.sortable').forEach(sortable);
  addEventListener('hashchange', show);
  let later;
  addEventListener('resize', () => { clearTimeout(later); later = setTimeout(() => { if (drawn.has('calls')) drawFlame(); if (drawn.has('timeline')) drawLanes(); }, 100); });
  addEventListener('beforeprint', () => document.querySelectorAll('details').forEach((x) => { x.open = true; }));
  show();
})();
