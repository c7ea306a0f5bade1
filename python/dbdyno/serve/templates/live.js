"use strict";
// The live page of a study. Everything arrives as events; what a report computes, such as the
// answer, is not computed here.
(() => {
  const main = document.getElementById("main"), study = main.dataset.study;
  const by = id => document.getElementById(id);
  const panels = new Map();
  let state = null, newest = 0, redrawn = 0;

  const element = (name, text, kind) => {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const duration = s => {
    s = Math.max(0, Math.round(s));
    const hours = Math.floor(s / 3600), minutes = Math.floor(s % 3600 / 60), seconds = s % 60;
    if (hours) return `${hours} h ${minutes} min`;
    return minutes ? `${minutes} min ${seconds} s` : `${seconds} s`;
  };
  const rate = value => livePanels.figure(value, "/s");
  const WORDS = {
    running: "running", complete: "complete", idle: "not begun",
    stopped: "stopped before its end: dbdyno resume carries on",
    killed: "its process was killed: its journals keep what it measured, dbdyno resume carries on",
  };

  const showProgress = progress => {
    by("status").textContent = WORDS[progress.state] || progress.state;
    if (progress.share !== undefined) {
      by("share").value = Math.max(by("share").value, progress.share);
      const since = progress.state === "running" ? progress.at - progress.as_of : 0;
      const [low, high] = progress.left_s.map(s => duration(s - since));
      const range = low === high ? low : `${low} to ${high}`;
      by("left").textContent = progress.state === "running"
        ? `${Math.round(100 * by("share").value)} % · ${range} left` : "";
    }
    const now = progress.now;
    const isFresh = now.at !== undefined && progress.state === "running";
    by("now").textContent = !isFresh ? "" : [
      now.cell, `${now.clients} client${now.clients === 1 ? "" : "s"}`, now.phase,
      `${rate(now.events_per_s)} events`,
      ...["p50", "p95", "p99"].filter(name => `${name}_ms` in now)
        .map(name => `${name} ${livePanels.figure(now[`${name}_ms`], "ms")}`),
      `reads ${rate(now.reads_per_s)}`, `writes ${rate(now.writes_per_s)}`,
      `errors ${rate(now.errors_per_s)}`,
      ...Object.entries(now.codes).map(([code, times]) => `${code} × ${times}`),
    ].join(" · ");
  };

  // SVG's namespace, from an element that the parser makes.
  const SVG = new DOMParser().parseFromString("<svg>", "text/html").body.firstChild.namespaceURI;
  const drawn = (name, attributes) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  // Each comparison with its interval; above it, paler, the intervals after earlier blocks.
  const showEffects = (answers, last) => {
    const every = [...answers, last].flatMap(answer => answer.effects || []);
    const wide = Math.max(Math.log(1.1), ...(last.effects || []).flatMap(effect =>
      [effect.low, effect.high].map(end => Math.abs(Math.log(end))))) * 1.15;
    const x = value => 50 + 48 * Math.max(-1, Math.min(1, Math.log(value) / wide));
    by("effects").replaceChildren(...(last.effects || []).map(effect => {
      const row = element("div", "", "row");
      const clients = `${effect.clients} client${effect.clients === 1 ? "" : "s"}`;
      row.append(element("span", `${effect.cell} · ${clients}`));
      const picture = drawn("svg", {
        viewBox: "0 0 100 22", preserveAspectRatio: "none", role: "img",
        "aria-label": `${effect.text} against ${effect.baseline}`,
      });
      const still = { "vector-effect": "non-scaling-stroke" };
      picture.append(drawn("line", { class: "axis", x1: 50, x2: 50, y1: 0, y2: 22, ...still }));
      const same = answers.slice(-5).flatMap(answer => answer.effects || [])
        .filter(one => one.cell === effect.cell && one.clients === effect.clients);
      same.slice(0, -1).forEach((one, place) => picture.append(drawn("line", {
        class: "earlier", x1: x(one.low), x2: x(one.high), y1: 3 + 4 * place, y2: 3 + 4 * place,
        "vector-effect": "non-scaling-stroke",
      })));
      picture.append(drawn("line", {
        class: "last", x1: x(effect.low), x2: x(effect.high), y1: 18, y2: 18,
        "vector-effect": "non-scaling-stroke",
      }));
      row.append(picture, element("span", `${effect.text}: ${effect.verdict}`));
      return row;
    }));
    if (!every.length && last.means) by("effects").replaceChildren(...last.means.map(mean => {
      const row = element("div", "", "row");
      const clients = `${mean.clients} client${mean.clients === 1 ? "" : "s"}`;
      row.append(element("span", `${mean.cell} · ${clients}`), element("span", mean.text));
      return row;
    }));
  };

  const showAnswer = () => {
    const { answer, answers } = state;
    if (!answer.text) return;
    by("answer").textContent = answer.text;
    by("not-final").textContent = answer.final ? "" :
      `After ${answer.blocks_done} of ${answer.blocks} blocks: not final, and no reason to stop. `
      + "Only the rule that the study declares ends it early.";
    showEffects(answers, answer);
  };

  const cellOf = run => {
    const shown = element("td", "", run.is.replace(" ", "-"));
    const phase = run.phase && run.phase.replace(/^step (\d+)$/, (_, index) => {
      const clients = run.clients[index];
      return `${clients} client${clients === 1 ? "" : "s"}`;
    });
    const word = run.is === "running" && phase ? phase : run.is;
    if (run.folder) {
      const link = element("a", word);
      link.href = `/studies/${study}/runs/${encodeURIComponent(run.folder)}`;
      shown.append(link);
    } else shown.append(word);
    const turns = `${run.turns} turn${run.turns === 1 ? "" : "s"}`;
    if (run.turns && run.is === "running") shown.append(element("small", turns));
    for (const step of Object.values(run.steps || {})) {
      const p95_ms = step.p95_us / 1000;
      const p95 = step.p95_us === null ? "" : ` · p95 ${livePanels.figure(p95_ms, "ms")}`;
      const errors = step.errors ? ` · ${step.errors} errors` : "";
      const text = `${step.clients}: ${rate(step.events_per_s)}${p95}${errors}`;
      shown.append(element("small", text));
    }
    if (run.reason) shown.append(element("small", run.reason));
    return shown;
  };

  const showGrid = () => {
    const head = element("tr");
    head.append(element("th", "Cell"));
    for (const block of state.blocks) head.append(element("th", `Block ${block}`));
    const rows = state.cells.map(cell => {
      const row = element("tr"), name = element("th", cell);
      name.scope = "row";
      row.append(name);
      for (const block of state.blocks) {
        const run = state.runs.find(one => one.cell === cell && one.block === block);
        row.append(run ? cellOf(run) : element("td", "–"));
      }
      return row;
    });
    const caption = by("grid").querySelector("caption");
    const body = element("tbody"), top = element("thead");
    top.append(head);
    body.append(...rows);
    by("grid").replaceChildren(caption, top, body);
  };

  const showLists = () => {
    const printed = by("printed");
    const atEnd = printed.scrollTop + printed.clientHeight + 30 > printed.scrollHeight;
    const text = state.printed.map(line => line.text).join("\n");
    if (printed.textContent !== text) {
      printed.textContent = text;
      if (atEnd) printed.scrollTop = printed.scrollHeight;
    }
    const clock = at => new Date(at * 1000).toLocaleTimeString();
    by("marks").replaceChildren(...state.marks.slice().reverse().map(({ at, kind, text }) =>
      element("li", `${clock(at)} ${kind}: ${text}`)));
  };

  const showState = () => {
    showAnswer();
    showGrid();
    showLists();
  };

  const take = ({ panels: known, lines }, anew) => {
    if (anew) { panels.clear(); by("panels").replaceChildren(); }
    for (const [name, words] of Object.entries(known))
      if (!panels.has(name)) panels.set(name, livePanels.make(by("panels"), name, words));
    for (const [name, whose, points] of lines) {
      livePanels.add(panels.get(name), whose, points);
      newest = Math.max(newest, points.at(-1)[0]);
    }
    by("no-panels").hidden = panels.size > 0;
    redraw();
  };

  const redraw = () => {
    if (document.hidden || Date.now() - redrawn < 500) return;
    redrawn = Date.now();
    livePanels.over(Number(by("span").value), newest, state ? state.marks : []);
    for (const panel of panels.values()) livePanels.draw(panel);
  };
  const redrawNow = () => { redrawn = 0; redraw(); };
  by("span").addEventListener("change", redrawNow);
  addEventListener("resize", redrawNow);
  document.addEventListener("visibilitychange", redrawNow);

  const source = new EventSource(`/api/studies/${study}/events`);
  source.addEventListener("state", event => {
    state = JSON.parse(event.data);
    // The report is at the same address as soon as it is written.
    if (state.report && !location.pathname.endsWith("/live")) location.reload();
    showState();
    redraw();
  });
  source.addEventListener("points", event => take(JSON.parse(event.data), false));
  source.addEventListener("all-points", event => take(JSON.parse(event.data), true));
  source.addEventListener("progress", event => {
    const progress = JSON.parse(event.data);
    by("trouble").hidden = true;
    showProgress(progress);
  });
  source.addEventListener("error", () => {
    by("trouble").hidden = false;
    by("trouble").textContent = "dbdyno serve does not answer; what is shown is from before. "
      + "The study goes on without it.";
  });
})();
