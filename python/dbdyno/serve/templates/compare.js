"use strict";
// Base and new over each other, by seconds since their windows began.
(() => {
  const { base, new: other } = document.getElementById("overlay").dataset;
  const pair = document.getElementById("pair"), place = document.getElementById("panels");
  livePanels.sinceBeginning();

  const show = async () => {
    const { cell, clients } = pair.selectedOptions[0].dataset;
    const asked = `base=${base}&new=${other}&cell=${encodeURIComponent(cell)}&clients=${clients}`;
    const answer = await fetch(`/api/compare?${asked}`);
    if (!answer.ok) return;
    const { panels: known, lines } = await answer.json();
    livePanels.drawAll(place, known, lines);
  };
  pair.addEventListener("change", show);
  show();
})();
