"use strict";
// The list is made anew by the server; a page that is looked at follows what runs.
const running = document.querySelector("tr.running");
const period_ms = running ? 10_000 : 60_000;
setInterval(() => {
  const typing = document.activeElement && document.activeElement.id === "q";
  if (!document.hidden && !typing && !getSelection().toString()) location.reload();
}, period_ms);
