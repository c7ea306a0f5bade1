"use strict";
// Lines over time out of the page's compact store (compact.py says how it is laid out), and the
// panels that a reader adds to a chart of them.
const linePanels = (() => {
  const MOST_FOUND = 60;
  const MOST_POINTED = 150;
  const EMPTY_FINE = 65535, EMPTY_COARSE = 255;

  const unpacked = bytes => {
    const length = new DataView(bytes.buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    const times = head.grids.map(({ ms }) => {
      let at = 0;
      return Float64Array.from(ms, step => at += step);
    });
    const apart = times.map(grid => {
      const steps = [...grid].slice(1).map((at, place) => at - grid[place]).sort((a, b) => a - b);
      return Math.max(head.gap_ms, head.gap_periods * (steps[steps.length >> 1] || 0));
    });
    const sizes = head.grid.map((grid, line) => head.high[line] === null ? 0 : times[grid].length);
    const fine = sizes.slice(0, head.fine).reduce((sum, size) => sum + size, 0);
    let fineAt = 4 + length, coarseAt = 4 + length + 2 * fine;
    const starts = sizes.map((size, line) =>
      line < head.fine ? (fineAt += size) - size : (coarseAt += size) - size);
    const places = head.base_ms.map(() => new Map());
    head.name.forEach((name, line) => places[head.run[line]].set(head.names[name], line));
    const value = (line, place) => {
      const low = head.low[line], high = head.high[line], at = starts[line] + place;
      if (high === null) return low;
      const coarse = line >= head.fine, empty = coarse ? EMPTY_COARSE : EMPTY_FINE;
      const code = coarse ? bytes[at] : bytes[at] << 8 | bytes[at + fine];
      return code === empty ? null : low + code / (empty - 1) * (high - low);
    };
    return { head, times, apart, places, value };
  };

  const tenth = ms => Math.round(ms / 100) / 10;

  // What a chart's panels show of one view: lines, phases and faults, and the axis's two ends.
  const shown = (store, view, names, whole) => {
    const { head, times, apart, places, value } = store;
    const rows = [], thinned = new Set();
    let from = Infinity, to = -Infinity;
    const row = (panel, block, ms, more) => {
      if (whole) { from = Math.min(from, ms); to = Math.max(to, ms); }
      rows.push({
        panel, block, second: tenth(ms), value: null, until: null, kind: null, text: null,
        shaded: null, hover: null, ...more,
      });
    };
    // The pointer finds the highest of each stretch of a long line, so that spikes can be read.
    const pointed = line => {
      const length = Math.ceil(line.length / MOST_POINTED);
      for (let start = 0; start < line.length; start += length)
        line.slice(start, start + length)
          .reduce((one, other) => other.value > one.value ? other : one).hover = "yes";
    };
    for (const [run, block, origin, begin, end] of head.views[view] || []) {
      if (!whole) { from = Math.min(from, begin - origin); to = Math.max(to, end - origin); }
      for (const name of names) {
        const line = places[run].get(name);
        if (line === undefined) continue;
        const grid = head.grid[line], instants = times[grid];
        if (head.grids[grid].thinned_s) thinned.add(head.grids[grid].thinned_s);
        const first = rows.length;
        let last = null;
        for (let place = 0; place < instants.length; place++) {
          const at = head.base_ms[run] + instants[place];
          if (!whole && (at < begin || at > end)) continue;
          if (last !== null && at - last > apart[grid]) row(name, block, last + 1 - origin);
          row(name, block, at - origin, { value: value(line, place) });
          last = at;
        }
        pointed(rows.slice(first).filter(row => row.value !== null));
      }
      for (const [kind, first, last, text, shaded] of head.marks[run]) {
        if (!whole && (last < begin || first > end)) continue;
        const ends = whole ? [first, last] : [Math.max(first, begin), Math.min(last, end)];
        const until = tenth(ends[1] - origin);
        row("marks", block, ends[0] - origin, { until, kind, text, shaded: shaded ? "yes" : "no" });
        if (whole) to = Math.max(to, ends[1] - origin);
      }
    }
    return { rows, domain: [tenth(from), tenth(to)], thinned: [...thinned].sort((a, b) => a - b) };
  };

  const title = (head, name) => {
    const [text, unit, kind] = head.metrics[name] || ["", "", "gauge"];
    return `${name}: ${text}${unit ? `, ${unit}` : ""}${kind === "counter" ? " per second" : ""}`;
  };

  // The last panel again, of another metric; the selections of all panels are its too.
  const panelOf = (spec, name, text) => {
    const panel = structuredClone(spec.vconcat.at(-1));
    panel.title = { ...panel.title, text };
    for (const layer of panel.layer) {
      for (const one of layer.transform)
        if (/datum\.panel/.test(one.filter) && !one.filter.includes("'marks'"))
          one.filter = `datum.panel === ${JSON.stringify(name)}`;
      for (const tip of layer.encoding.tooltip || []) if (tip.field === "value") tip.title = name;
      if (!layer.name) continue;
      const before = layer.name;
      layer.name = `${before} of ${name}`.replace(/\W/g, "_");
      for (const { views } of spec.params)
        if (views && views.includes(before)) views.push(layer.name);
    }
    return panel;
  };

  const spec = (store, chart, domain, rows) => {
    const spec = structuredClone(chart.spec);
    const added = chart.added.map(name => panelOf(spec, name, title(store.head, name)));
    spec.vconcat.push(...added);
    const there = new Set(rows.map(row => row.panel));
    [...chart.panels, ...chart.added].forEach((name, place) => {
      if (there.has(name)) return;
      const panel = spec.vconcat[place + 1];
      panel.title.text += " (not sampled here)";
      for (const { encoding: { y } } of panel.layer) {
        if (!y) continue;
        y.scale = { domain: [0, 1] };
        y.axis = { ...y.axis, values: [] };
      }
    });
    spec.vconcat.forEach((panel, place) => {
      const last = place === spec.vconcat.length - 1;
      for (const { encoding: { x } } of panel.layer) {
        x.scale = { ...x.scale, domain };
        x.axis = { ...x.axis, labels: last, ticks: last };
        x.title = last ? "seconds into the window" : null;
      }
    });
    return spec;
  };

  // A stretch dragged over becomes the axis of all panels, until a double click.
  // The drag may end anywhere in the window.
  const zooming = (chart, view, redraw) => {
    const least_s = 0.2;
    const to = domain => { chart.zoomed = domain; redraw(); };
    let brushed = null, dragging = false;
    const released = () => {
      dragging = false;
      if (brushed && brushed[1] - brushed[0] >= least_s) to(brushed);
    };
    view.addSignalListener("brush", (_, { second }) => {
      brushed = second ? second.map(Number).sort((a, b) => a - b) : null;
      if (!brushed || dragging) return;
      dragging = true;
      addEventListener("pointerup", released, { once: true });
    });
    view.addEventListener("dblclick", () => chart.zoomed && to(null));
  };

  // Metrics with all the words; those whose names have them first.
  const found = (head, text) => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const has = string => words.every(word => string.toLowerCase().includes(word));
    const names = Object.keys(head.metrics);
    const byName = names.filter(has);
    const told = name => `${name} ${head.metrics[name].join(" ")}`;
    const byWords = names.filter(name => !has(name) && has(told(name)));
    return [...byName, ...byWords];
  };

  const optionOf = (id, head, name, add) => {
    const option = document.createElement("li"), word = document.createElement("code");
    option.id = id;
    option.setAttribute("role", "option");
    word.textContent = name;
    option.append(word, ` ${title(head, name).slice(name.length + 2)}`);
    option.addEventListener("pointerdown", event => { event.preventDefault(); add(); });
    return option;
  };

  const restOf = (shown, every, head) => {
    const sources = [...new Set(Object.keys(head.metrics).map(name => name.split(".")[0]))].sort();
    const rest = document.createElement("li");
    rest.className = "rest";
    rest.textContent = shown
      ? `${every - shown} more: type some of the name`
      : `No metric has these words; there are metrics of ${sources.join(", ")}.`;
    return rest;
  };

  const chipOf = (name, remove) => {
    const chip = document.createElement("button");
    chip.type = "button";
    chip.textContent = `${name} ×`;
    chip.setAttribute("aria-label", `Remove ${name}`);
    chip.addEventListener("click", remove);
    return chip;
  };

  const thinnedText = seconds => {
    const spans = seconds.map(span => span.toFixed(1)).join(" or ");
    return `Thinned to keep this page small: of every ${spans} s the lowest and the highest value `
      + "are shown.";
  };

  // The axis is that of the load, or of all that was sampled.
  const widening = (place, chart, redraw) => {
    const whole = place.querySelector("input[type=checkbox]");
    whole.addEventListener("change", () => {
      chart.whole = whole.checked;
      chart.zoomed = null;
      redraw();
    });
  };

  // A combobox: arrows choose, Enter adds, Escape closes.
  const adding = (place, chart, store, redraw) => {
    const input = place.querySelector("input[type=text]"), list = place.querySelector("ul");
    const added = place.querySelector(".added"), note = place.querySelector(".note");
    let names = [], chosen = -1;
    chart.added = [];
    widening(place, chart, redraw);

    const close = () => {
      list.hidden = true;
      chosen = -1;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    };
    const choose = to => {
      chosen = to;
      const options = [...list.querySelectorAll("[role=option]")];
      options.forEach((option, at) => option.setAttribute("aria-selected", at === to));
      const option = list.children[to];
      if (!option) return;
      input.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    };
    const open = async () => {
      const { head } = await store();
      const shown = [...chart.panels, ...chart.added];
      const every = found(head, input.value).filter(name => !shown.includes(name));
      names = every.slice(0, MOST_FOUND);
      const options = names.map((name, at) =>
        optionOf(`${list.id}-${at}`, head, name, () => add(name)));
      list.replaceChildren(...options);
      if (every.length !== names.length || !names.length)
        list.append(restOf(names.length, every.length, head));
      list.hidden = false;
      input.setAttribute("aria-expanded", "true");
      choose(names.length ? 0 : -1);
    };
    const remove = name => {
      chart.added = chart.added.filter(one => one !== name);
      chips();
      redraw();
      input.focus();
      close();
    };
    const chips = () =>
      added.replaceChildren(...chart.added.map(name => chipOf(name, () => remove(name))));
    const add = name => { chart.added.push(name); input.value = ""; close(); chips(); redraw(); };

    input.addEventListener("focus", open);
    input.addEventListener("input", open);
    input.addEventListener("blur", close);
    input.addEventListener("keydown", event => {
      if (event.key === "Escape") close();
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (list.hidden) open();
        else if (names.length) {
          const step = event.key === "ArrowDown" ? 1 : names.length - 1;
          choose((chosen + step) % names.length);
        }
      } else if (event.key === "Enter" && !list.hidden && names[chosen]) {
        event.preventDefault();
        add(names[chosen]);
      }
    });
    chart.say = thinned => {
      note.textContent = thinned.length ? thinnedText(thinned) : "";
    };
  };

  return { unpacked, shown, spec, zooming, adding };
})();
