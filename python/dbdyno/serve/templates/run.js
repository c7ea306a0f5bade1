"use strict";
// Lines over time of a run that has ended: its load, and the metrics that were chosen.
(() => {
  const address = `/api${document.getElementById("main").dataset.address}`;
  const list = document.getElementById("metric"), chosen = document.getElementById("chosen");

  const show = async (place, name) => {
    const answer = await fetch(name ? `${address}?metric=${encodeURIComponent(name)}` : address);
    if (!answer.ok) return;
    const { panels: known, lines, marks } = await answer.json();
    livePanels.drawAll(place, known, lines, marks);
  };
  const showChosen = () => {
    const names = [...list.selectedOptions].map(option => option.value);
    chosen.replaceChildren();
    for (const name of names) {
      const place = document.createElement("div");
      chosen.append(place);
      show(place, name);
    }
  };
  list.addEventListener("change", showChosen);
  show(document.getElementById("panels"), "");
  showChosen();
})();
