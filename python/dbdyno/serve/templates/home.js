"use strict";
// The server makes the list, so the page is reloaded: more often while a study runs.
const running = document.querySelector("tr.running");
const period_ms = running ? 10_000 : 60_000;
setInterval(() => {
  const typing = document.activeElement && document.activeElement.id === "q";
  if (!document.hidden && !typing && !getSelection().toString()) location.reload();
}, period_ms);
