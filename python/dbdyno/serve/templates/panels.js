"use strict";
// Lines over time, drawn by hand: a chart library that redraws a dozen panels each second takes a
// core of the machine that is measured.
const livePanels = (() => {
  const MOST = 1800, COLOURS = 6, GAP_S = 12;
  const HEIGHT = 110, TOP = 6, BOTTOM = 4;

  const words = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
  const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const figure = (value, unit) => {
    if (unit === "ms" && Math.abs(value) < 1) return `${words.format(value * 1000)} µs`;
    if (unit === "ms" && Math.abs(value) >= 1000) return `${words.format(value / 1000)} s`;
    const bytes = unit.startsWith("B") || Math.abs(value) >= 100_000;
    const large = bytes && PREFIXES.find(([least]) => Math.abs(value) >= least);
    const [factor, prefix] = large || [1, ""];
    return `${words.format(value / factor)} ${prefix}${unit}`.trim();
  };
  let isClock = true;
  const clock = at => isClock ? new Date(at * 1000).toLocaleTimeString() : `${words.format(at)} s:`;

  const make = (place, name, { title, unit, rank }) => {
    const figureOf = document.createElement("figure");
    figureOf.className = "panel";
    const caption = document.createElement("figcaption"), newest = document.createElement("span");
    const canvas = document.createElement("canvas"), key = document.createElement("div");
    const heading = document.createElement("b");
    heading.textContent = heading.title = title;
    caption.append(heading, newest);
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    key.className = "key";
    figureOf.append(caption, canvas, key);
    figureOf.style.order = rank;
    place.append(figureOf);
    const panel = { name, title, unit, canvas, newest, key, lines: new Map(), cursor: null };
    canvas.addEventListener("pointermove", event => {
      const box = canvas.getBoundingClientRect();
      panel.cursor = (event.clientX - box.left) / box.width;
      draw(panel);
    });
    canvas.addEventListener("pointerleave", () => { panel.cursor = null; draw(panel); });
    canvas.addEventListener("blur", () => { panel.cursor = null; draw(panel); });
    canvas.addEventListener("keydown", event => {
      const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[event.key];
      if (event.key === "Escape") panel.cursor = null;
      else if (!step) return;
      else panel.cursor = Math.min(1, Math.max(0, (panel.cursor ?? 1) + step));
      event.preventDefault();
      draw(panel);
    });
    return panel;
  };

  // Each cell has one colour, whatever the panel.
  const colours = new Map();
  const colourOf = whose => {
    if (!colours.has(whose)) colours.set(whose, colours.size % COLOURS + 1);
    return `--line-${colours.get(whose)}`;
  };

  const add = (panel, whose, points) => {
    const line = panel.lines.get(whose) || [];
    line.push(...points);
    if (line.length > MOST) line.splice(0, line.length - MOST);
    panel.lines.set(whose, line);
  };

  const shownOf = (panel, span_s, end) => {
    const from = span_s ? end - span_s : -Infinity;
    return [...panel.lines].map(([whose, line]) => [whose, line.filter(([at]) => at >= from)])
      .filter(([, line]) => line.length);
  };

  let shownTime = { span_s: 300, end: 0, marks: [] };

  const draw = panel => {
    const { canvas } = panel, style = getComputedStyle(canvas);
    const { span_s, end, marks } = panel.time || shownTime;
    const width = canvas.clientWidth, scale = devicePixelRatio || 1;
    if (!width) return;
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(HEIGHT * scale)) canvas.height = Math.round(HEIGHT * scale);
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, HEIGHT);
    const shown = shownOf(panel, span_s, end), every = shown.flatMap(([, line]) => line);
    if (!every.length) return;
    const first = Math.min(...shown.map(([, line]) => line[0][0]));
    let most = 0;
    for (const [, value] of every) most = Math.max(most, value);
    const x = at => (at - first) / Math.max(end - first, 1) * width;
    const y = value => HEIGHT - BOTTOM - value / (most || 1) * (HEIGHT - TOP - BOTTOM);
    context.strokeStyle = style.getPropertyValue("--line");
    context.lineWidth = 1;
    const upright = place => {
      context.beginPath();
      context.moveTo(place, 0);
      context.lineTo(place, HEIGHT);
      context.stroke();
    };
    for (const { kind, at } of marks) {
      if (kind === "phase" || at < first) continue;
      context.strokeStyle = style.getPropertyValue("--doubtful");
      upright(x(at));
    }
    context.lineWidth = 1.5;
    shown.forEach(([whose, line]) => {
      context.strokeStyle = style.getPropertyValue(colourOf(whose));
      context.beginPath();
      let last = -Infinity;
      for (const [at, value] of line) {
        if (at - last > GAP_S) { context.moveTo(x(at) - 1, y(value)); }
        context.lineTo(x(at), y(value));
        last = at;
      }
      context.stroke();
    });
    const at = panel.cursor === null ? end : first + panel.cursor * (end - first);
    if (panel.cursor !== null) {
      context.strokeStyle = style.getPropertyValue("--soft");
      upright(x(at));
    }
    const near = shown.map(([whose, line]) => {
      const point = line.reduce((one, other) =>
        Math.abs(other[0] - at) < Math.abs(one[0] - at) ? other : one);
      return [whose, point];
    });
    const newest = near.reduce((one, other) =>
      Math.abs(other[1][0] - at) < Math.abs(one[1][0] - at) ? other : one);
    const when = panel.cursor === null ? "" : `${clock(newest[1][0])} `;
    const value = figure(newest[1][1], panel.unit), top = figure(most, panel.unit);
    panel.newest.textContent = `${when}${value} · top ${top}`;
    canvas.setAttribute("aria-label", `${panel.title}: ${panel.newest.textContent}`);
    const named = shown.map(([whose]) => whose).filter(Boolean);
    if (panel.key.dataset.named !== named.join("\n")) {
      panel.key.dataset.named = named.join("\n");
      panel.key.replaceChildren(...shown.map(([whose]) => {
        const part = document.createElement("span");
        part.textContent = whose;
        part.style.setProperty("--whose", `var(${colourOf(whose)})`);
        return part;
      }).filter(part => part.textContent));
    }
  };

  // All of these panels anew, from their first to their last point.
  const drawAll = (place, known, lines, shownMarks) => {
    place.replaceChildren();
    const panels = new Map(Object.entries(known).map(([name, words]) =>
      [name, make(place, name, words)]));
    let last = 0;
    for (const [name, whose, points] of lines) {
      add(panels.get(name), whose, points);
      last = Math.max(last, points.at(-1)[0]);
    }
    for (const panel of panels.values())
      panel.time = { span_s: 0, end: last, marks: shownMarks || [] };
    const redraw = () => { for (const panel of panels.values()) draw(panel); };
    addEventListener("resize", redraw);
    redraw();
  };

  return {
    make, add, draw, drawAll, figure,
    over(span_s, end, marks) { shownTime = { span_s, end, marks }; },
    // Times are seconds since a beginning, and not the clock's.
    sinceBeginning() { isClock = false; },
  };
})();
