"use strict";
// Draws every chart from the payload with the rows the reader chose; follows the colour scheme.
(async () => {
  const unzipped = id => {
    const text = atob(document.getElementById(id).textContent);
    const bytes = new Uint8Array(text.length);
    for (let place = 0; place < text.length; place++) bytes[place] = text.charCodeAt(place);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  };
  const charts = await unzipped("payload").json();
  for (const [name, chart] of Object.entries(charts)) chart.name = name;
  let lines = null;
  const store = () => lines ??= unzipped("lines").arrayBuffer()
    .then(buffer => linePanels.unpacked(new Uint8Array(buffer)));
  const chosen = {};
  for (const box of document.querySelectorAll("select[data-selector]"))
    chosen[box.dataset.selector] = box.value;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const logarithmic = new Set();

  const rows = ({ columns, selector }) => {
    const names = Object.keys(columns);
    const places = [...columns[names[0]].keys()];
    const kept = selector && selector in chosen
      ? places.filter(place => columns.key[place] === chosen[selector])
      : places;
    return kept.map(place => Object.fromEntries(names.map(name => [name, columns[name][place]])));
  };

  // Labels come wrapped for a wide page; a narrow one wraps them again, so that none is cut.
  const rewrapped = label => {
    const words = label.replace(/-\n/g, "-").replace(/\n/g, " ").match(/[^ -]*[ -]|[^ -]+$/g);
    const lines = [""];
    for (const word of words) {
      if (lines.at(-1) && lines.at(-1).length + word.trimEnd().length > 20) lines.push("");
      lines[lines.length - 1] += word;
    }
    return lines.map(line => line.trim()).join("\n");
  };

  const narrowed = (wide, all) => {
    const spec = JSON.parse(JSON.stringify(wide), (key, value) =>
      key === "columns" && value > 3 ? 3 : value);
    if (!all.length || !("label" in all[0])) return spec;
    for (const row of all) row.label = rewrapped(row.label);
    const labels = new Set(all.map(row => row.label));
    const lines = Math.max(...[...labels].map(label => label.split("\n").length));
    return { ...spec, height: Math.max(80, labels.size * (lines * 13 + 12)) };
  };

  const theme = () => {
    const [text, line] = dark.matches ? ["#d5dae0", "#39414b"] : ["#2a2f36", "#dfe3e8"];
    const font = getComputedStyle(document.body).fontFamily;
    const words = { labelColor: text, titleColor: text, labelFontSize: 12, titleFontSize: 12 };
    return {
      background: null, font,
      view: { stroke: null },
      title: { color: text }, text: { color: text },
      axis: { ...words, gridColor: line, domainColor: line, tickColor: line, titleFontWeight: 500 },
      legend: {
        ...words, labelLimit: 260, orient: innerWidth < 720 ? "bottom" : "right", columns: 1,
        layout: { bottom: { anchor: "start", direction: "vertical", margin: 8 } },
      },
    };
  };

  const withLogarithms = spec => JSON.parse(JSON.stringify(spec), (key, value) =>
    key === "y" && value && value.type === "quantitative"
      ? { ...value, scale: { type: "log" } }
      : value);

  // Stacked panels can't take their width from the page: what the axes leave is told to each.
  const panelled = async (chart, place) => {
    const read = await store();
    const view = chosen[chart.selector] ?? Object.keys(read.head.views)[0];
    const names = [...chart.panels, ...chart.added];
    const { rows, domain, thinned } = linePanels.shown(read, view, names, chart.whole);
    const spec = linePanels.spec(read, chart, chart.zoomed ?? domain, rows);
    chart.say(thinned);
    const width = Math.max(160, place.clientWidth - 104);
    return {
      ...spec,
      vconcat: spec.vconcat.map(panel => ({ ...panel, width })),
      datasets: { ...spec.datasets, rows },
    };
  };

  // A screen reader gets one description of the chart in place of one for each mark.
  const describe = place => {
    const words = place.dataset.words || place.dataset.chart;
    const picture = place.querySelector("svg");
    const menu = place.querySelector("details > summary");
    if (menu) {
      menu.setAttribute("aria-label", `Save: ${words.split(". ")[0]}`);
      menu.addEventListener("click", () => place.classList.toggle("open-menu"));
    }
    if (!picture) return;
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", words);
    for (const mark of picture.querySelectorAll("[aria-label], [role]")) {
      mark.removeAttribute("aria-label");
      mark.removeAttribute("role");
    }
  };

  const draw = async place => {
    if (!place.clientWidth) { place.dataset.waiting = "yes"; return; }
    delete place.dataset.waiting;
    const name = place.dataset.chart, chart = charts[name];
    const spec = logarithmic.has(name) ? withLogarithms(chart.spec) : chart.spec;
    if (chart.view) chart.view.finalize();
    const flat = () => {
      const all = rows(chart);
      const sized = place.clientWidth < 560 ? narrowed(spec, all) : spec;
      const autosize = { type: "fit-x", contains: "padding" };
      return { ...sized, autosize, datasets: { ...spec.datasets, rows: all } };
    };
    const drawn = chart.panels.length ? await panelled(chart, place) : flat();
    const result = await vegaEmbed(place, drawn, {
      renderer: "svg", config: theme(), downloadFileName: name,
      actions: { export: true, source: false, compiled: false, editor: false },
      tooltip: { theme: dark.matches ? "dark" : "light" },
    });
    chart.view = result.view;
    describe(place);
    if (chart.panels.length)
      linePanels.zooming(chart, result.view, () => drawAll(one => one === chart));
    performance.mark(`drawn ${name}`);
  };

  // Charts under a folded heading are drawn too, after those that show, so that printing and
  // unfolding find them there. A browser that lays nothing out while folded draws when unfolded.
  const drawAll = async names => {
    const folded = place => place.closest("details:not([open])") !== null;
    const places = [...document.querySelectorAll("[data-chart]")];
    for (const place of places.sort((a, b) => folded(a) - folded(b))) {
      if (names && !names(charts[place.dataset.chart])) continue;
      try {
        await draw(place);
      } catch (error) {
        place.textContent = `This chart could not be drawn: ${error}`;
        place.classList.add("broken");
        console.error(error);
      }
    }
  };

  for (const box of document.querySelectorAll("select[data-selector]"))
    box.addEventListener("change", () => {
      chosen[box.dataset.selector] = box.value;
      for (const chart of Object.values(charts)) chart.zoomed = null;
      for (const other of document.querySelectorAll("select[data-selector]"))
        if (other.dataset.selector === box.dataset.selector) other.value = box.value;
      drawAll(chart => chart.selector === box.dataset.selector);
    });
  for (const button of document.querySelectorAll("[data-scale]"))
    button.addEventListener("click", () => {
      const name = button.dataset.scale;
      if (!logarithmic.delete(name)) logarithmic.add(name);
      button.textContent = logarithmic.has(name) ? "linear scale" : "log scale";
      drawAll(chart => chart === charts[name]);
    });
  for (const place of document.querySelectorAll("[data-panels]")) {
    const chart = charts[place.dataset.panels];
    linePanels.adding(place, chart, store, () => drawAll(one => one === chart));
  }
  dark.addEventListener("change", () => drawAll());

  const parts = [...document.querySelectorAll("details")]
    .filter(one => !one.closest(".vega-embed"));
  const unfolded = one => {
    for (let above = one; above; above = above.parentElement?.closest("details")) above.open = true;
  };
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    unfolded(target.querySelector(":scope > details") ?? target.closest("details"));
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  for (const link of document.querySelectorAll('a[href^="#"]:not([href="#"])'))
    link.addEventListener("click", () => { if (link.hash === location.hash) reveal(); });
  for (const part of parts)
    part.addEventListener("toggle", () => {
      if (part.open && part.querySelector("[data-waiting]"))
        drawAll(chart => document.getElementById(`chart-${chart.name}`)?.dataset.waiting);
    });
  const all = document.getElementById("unfold");
  all?.addEventListener("click", () => {
    const open = parts.some(part => !part.open);
    for (const part of parts) part.open = open;
    all.textContent = open ? "Fold all" : "Unfold all";
  });
  let before = [];
  addEventListener("beforeprint", () => {
    before = parts.filter(part => !part.open);
    for (const part of before) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of before) part.open = false; });
  reveal();
  await drawAll();
  document.documentElement.dataset.drawn = "yes";
})();
