"use strict";
// Follows a fit: the server tells of each change, and the page is read again. Charts stay as they
// are, with their zoom and their settings, and get new points; the rest is replaced.

async function readAgain() {
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const next = new DOMParser().parseFromString(await answer.text(), "text/html");
  DATA = JSON.parse(next.getElementById("data").textContent);
  for (const figure of next.querySelectorAll("figure.chart")) {
    const here = document.getElementById(figure.id);
    if (here) figure.replaceWith(here);
  }
  for (const name of ["header", "main"]) {
    document.querySelector(name).replaceWith(next.querySelector(name));
  }
  for (const figure of document.querySelectorAll("figure.chart")) drawFigure(figure);
}

let reading = Promise.resolve();
new EventSource("events").onmessage = () => { reading = reading.then(readAgain, readAgain); };
