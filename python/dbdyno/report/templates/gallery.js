"use strict";
// Shows the cards that have all words of the search; the words stand in the address, too.
const box = document.getElementById("search");
const cards = [...document.querySelectorAll("article")].map((card) => {
  return { card, text: `${card.id} ${card.textContent}`.toLowerCase() };
});

function show() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { card, text } of cards) {
    card.hidden = !words.every((word) => text.includes(word));
    shown += card.hidden ? 0 : 1;
  }
  document.getElementById("count").textContent = words.length ? `${shown} of ${cards.length}` : "";
  document.getElementById("none").hidden = shown > 0 || !cards.length;
}

box.addEventListener("input", () => {
  show();
  const kept = box.value.trim() ? `#q=${encodeURIComponent(box.value.trim())}` : "#";
  history.replaceState(null, "", kept);
});
const asked = /^#q=(.*)$/.exec(location.hash);
if (asked) {
  try {
    box.value = decodeURIComponent(asked[1]);
  } catch {
    box.value = "";
  }
}
document.querySelector(".finding").hidden = false;
show();
